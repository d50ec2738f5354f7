#include <adjoint/core/error.h>
#include <adjoint/models/training_types.h>

#include <nlohmann/json.hpp>

namespace adj::models {

namespace {

using Json = nlohmann::json;

std::string prefix_of(size_t type) { return fmt::format("types.{}.", type); }

EdgeType relation_in(const Json& r) {
  return {r.at(0).get<std::string>(), r.at(1).get<std::string>(), r.at(2).get<std::string>()};
}

GraphSchema schema_in(const Json& json) {
  GraphSchema schema;
  for (const Json& type : json.at("nodes"))
    schema.nodes.push_back({type.at("name").get<std::string>(), type.at("count").get<int64_t>(),
                            type.at("features").get<int64_t>()});
  for (const Json& r : json.at("relations")) schema.relations.push_back(relation_in(r));
  return schema;
}

/// Whether numbers are those of a graph.
bool is_sound(const GraphSchema& schema) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  int64_t nodes = 0;
  for (const GraphSchema::Nodes& type : schema.nodes) {
    if (type.name.empty() || type.count < 0 || type.count > kMost || type.features < 0 ||
        type.features > kMost)
      return false;
    nodes += type.count;
  }
  return !schema.nodes.empty() && nodes <= kMost;
}

}  // namespace

void TrainingTypes::save(Checkpoint& checkpoint) const {
  Json json{{"nodes", Json::array()}, {"relations", Json::array()}};
  for (size_t t = 0; t < nodes.size(); ++t) {
    const GraphSchema::Nodes& type = schema.nodes[t];
    json["nodes"].push_back({{"name", type.name},
                             {"count", type.count},
                             {"features", type.features},
                             {"scaling", std::string(name_of(nodes[t].inputs.scaling.kind()))}});
    Checkpoint part;
    nodes[t].inputs.save(part);
    for (const auto& [name, tensor] : part.tensors) checkpoint.tensors[prefix_of(t) + name] = tensor;
    for (const auto& [name, tensor] : {std::pair("nodes.names", &nodes[t].names),
                                       {"nodes.offsets", &nodes[t].name_offsets},
                                       {"nodes.ids", &nodes[t].ids}})
      if (*tensor) checkpoint.tensors[prefix_of(t) + name] = *tensor;
  }
  for (const EdgeType& type : schema.relations) json["relations"].push_back({type.src, type.name, type.dst});
  if (link) json["link"] = {link->src, link->name, link->dst};
  const std::string text = json.dump();
  checkpoint.tensors["types"] = Tensor::from(std::vector<uint8_t>(text.begin(), text.end()));
}

std::shared_ptr<const TrainingTypes> TrainingTypes::load(const Checkpoint& checkpoint) {
  const auto found = checkpoint.tensors.find("types");
  if (found == checkpoint.tensors.end()) return nullptr;
  auto types = std::make_shared<TrainingTypes>();
  try {
    const std::vector<uint8_t> text = found->second.to_vector<uint8_t>();
    const Json json = Json::parse(text.begin(), text.end());
    types->schema = schema_in(json);
    ADJ_CHECK(is_sound(types->schema), "expected names and numbers of nodes and features");
    if (json.contains("link")) {
      types->link = relation_in(json.at("link"));
      (void)pairs_of(types->schema, *types->link);  // throws for an unknown one
      types->schema.targets = types->link->src == types->link->dst ? 1 : 2;
      ADJ_CHECK(types->schema.targets <= types->schema.nodes.size() &&
                    types->schema.nodes.front().name == types->link->src &&
                    types->schema.nodes[types->schema.targets - 1].name == types->link->dst,
                "link: expected the types of its nodes first");
    }
    for (size_t t = 0; t < types->schema.nodes.size(); ++t) {
      Checkpoint part{
          .program = checkpoint.program,
          .facts = {{"outputs", "0"},
                    {"features", fmt::format("{}", types->schema.nodes[t].features)},
                    {"features.scaling", json.at("nodes").at(t).at("scaling").get<std::string>()}},
          .tensors = {},
          .path = checkpoint.path};
      for (const auto& [name, tensor] : checkpoint.tensors)
        if (name.starts_with(prefix_of(t))) part.tensors[name.substr(prefix_of(t).size())] = tensor;
      Nodes nodes{.inputs = Preprocessing::load(part)};
      const auto take = [&](const char* name) {
        const auto tensor = part.tensors.find(name);
        return tensor == part.tensors.end() ? Tensor() : tensor->second;
      };
      nodes.names = take("nodes.names"), nodes.name_offsets = take("nodes.offsets");
      nodes.ids = take("nodes.ids");
      types->nodes.push_back(std::move(nodes));
    }
  } catch (const DataError&) {
    throw;
  } catch (const std::exception& error) {
    data_fail("{}: tensors/types: {}", checkpoint.path, error.what());
  }
  return types;
}

}  // namespace adj::models
