#include <adjoint/core/error.h>
#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/feature_names.h>
#include <adjoint/graph/detail/index.h>
#include <adjoint/training/feature_place.h>
#include <adjoint/training/inputs.h>
#include <adjoint/training/typed_inputs.h>

#include <algorithm>
#include <unordered_map>

#include <fmt/ranges.h>

namespace adj::training {

namespace {

using models::TrainingTypes;

/// "nodes of type author", for messages of their features.
std::string place_of(const std::string& file, const std::string& type) {
  return fmt::format("{}: nodes of type {}", file, printable(type));
}

void log_left_out(const TypedDataset& data, const GraphSchema& schema) {
  if (const std::vector<std::string> texts = left_out(data.graph, schema); !texts.empty())
    log_warning("not used: {}", detail::listed(texts, 5));
}

void log_types(const TypedDataset& data, const GraphSchema& schema) {
  for (size_t t = 0; t < schema.nodes.size(); ++t) {
    const GraphSchema::Nodes& type = schema.nodes[t];
    log_info("{} nodes of type {}{}: {}", type.count, printable(type.name), t == 0 ? " (target)" : "",
             type.features > 0 ? fmt::format("{} features", type.features) : "no features");
  }
  const auto count = static_cast<size_t>(std::ssize(data.graph.edge_types()));
  log_info("{} relation{}{}", count, count == 1 ? "" : "s",
           schema.relations.size() > count
               ? fmt::format(", and the reverse rev_NAME of {}; --reverse none leaves them out",
                             schema.relations.size() - count)
               : "");
}

/// Makes sparse features dense, as one matrix per type.
void make_dense(const std::string& type, Features& x) {
  if (!x || !x.is_sparse()) return;
  const int64_t before = x.bytes();
  x = Features(x.to_dense());
  log_info("nodes of type {}: sparse features made dense, {:.1f} MB instead of {:.1f} MB", printable(type),
           static_cast<double>(x.bytes()) / 0x1p20, static_cast<double>(before) / 0x1p20);
}

}  // namespace

TypedDataset load_types(const std::string& path, const BatchOptions& batches) {
  const LoadOptions loading = load_options(batches);
  if (path.empty() && loading.features_in_file)
    usage_fail("--features file: requires --data FILE, the demo dataset is not a file");
  TypedDataset data = path.empty() ? with_types(load_demo_dataset()) : load_typed_dataset(path, loading);
  if (path.empty() || !is_typed_dataset(path))
    log_info("{}: one type of nodes and edges", printable(data.name));
  return data;
}

std::shared_ptr<TrainingTypes> prepare_types(const Settings& options, TypedDataset& data,
                                             const GraphSchema& schema, const std::string& file,
                                             const Tensor& train) {
  log_types(data, schema);
  log_left_out(data, schema);
  auto types = std::make_shared<TrainingTypes>();
  types->schema = schema;
  for (const GraphSchema::Nodes& type : schema.nodes) {
    ItemTable& items = data.nodes.at(type.name);
    TrainingTypes::Nodes nodes;
    if (type.features == 0) {
      nodes.names = items.node_names, nodes.name_offsets = items.node_name_offsets;
      nodes.ids = items.node_ids;
    } else {
      Dataset alone = nodes_alone(data, type.name);
      const std::string place = place_of(file, type.name);
      nodes.inputs.scaling = choose_scaling(alone, place, options.data.features_scaling,
                                            type == schema.nodes.front() ? train : Tensor());
      scale_features(alone, place, nodes.inputs.scaling);
      make_dense(type.name, alone.x);
      nodes.inputs.feature_names = items.feature_names;
      nodes.inputs.encoder = items.encoder;
      items.x = alone.x, items.x_in_file = alone.x_in_file;
    }
    types->nodes.push_back(std::move(nodes));
  }
  return types;
}

LearningTask typed_node_task(const Settings& options) {
  TypedDataset data = load_types(options.data.path, options.batches);
  const std::string file = options.data.path.empty() ? data.name : options.data.path;
  const std::string target =
      target_type(data, options.data.target == "auto" ? "" : options.data.target, file);
  const GraphSchema schema = schema_of(data, {target}, options.data.reverse == ReverseRelations::add);
  Examples examples = node_examples(options, nodes_alone(data, target));
  const auto split = static_cast<size_t>(split_number(options.data.split).value_or(0));
  const auto types = prepare_types(options, data, schema, file,
                                   split < examples.splits.size() ? examples.splits[split].train : Tensor());
  return {options, joint_dataset(data, schema), std::move(examples), {}, {}, types};
}

namespace {

/// The numbers that nodes have by their names or ids in the training.
Tensor numbers_of(const ItemTable& items, int64_t count, const TrainingTypes::Nodes& trained,
                  int64_t trained_count, const std::string& place, const std::string& origin) {
  const bool named = trained.names || trained.ids;
  if (!named && count != trained_count)
    data_fail("{}: {} nodes without features or names, but {} was trained on {}, which have embeddings",
              place, count, origin, trained_count);
  if (named && static_cast<bool>(items.node_names) != static_cast<bool>(trained.names))
    data_fail("{}: nodes have {}, but {} was trained on nodes with {}, which have embeddings", place,
              items.node_names ? "names" : "ids", origin, trained.names ? "names" : "ids");
  std::unordered_map<std::string, int32_t> known;
  ItemTable before;
  before.node_names = trained.names, before.node_name_offsets = trained.name_offsets;
  before.node_ids = trained.ids;
  for (const std::string& text : detail::names_of(before, trained_count))
    known.emplace(text, static_cast<int32_t>(known.size()));
  std::vector<int32_t> numbers;
  for (const std::string& text : detail::names_of(items, count)) {
    const auto found = known.find(text);
    if (found == known.end())
      data_fail(
          "{}: node '{}' has no features, and was not in the training of {}, whose nodes have embeddings",
          place, excerpt(text), origin);
    numbers.push_back(found->second);
  }
  return Tensor::from(numbers);
}

}  // namespace

namespace {

/// What belongs to the links of a model of them.
void match_links(const TypedDataset& data, const std::string& file, const EdgeType& type,
                 MatchedTypes& matched) {
  std::vector<std::string> ends{type.src};
  if (type.dst != type.src) {
    ends.push_back(type.dst);
    matched.link_targets = nodes_alone(data, type.dst);
  }
  matched.embedded = ends.size() == 1 ? matched.target : named_by_types(data, ends);
  const EdgeIndex edges = at_place(file, "edges", [&] { return edges_of(data.graph, type); });
  matched.links = Graph::from_coo(matched.embedded.num_nodes(), edges.src,
                                  detail::shifted(edges.dst, matched.first_target()));
}

}  // namespace

Tensor MatchedTypes::of_target(const Tensor& outputs) const {
  return detail::gather_edges(outputs, rows.to(outputs.device()));
}

MatchedTypes match_types(TypedDataset data, const std::string& file, const ModelDescription& model) {
  const TrainingTypes& types = *model.types;
  GraphSchema schema = types.schema;
  NodeNumbers numbers;
  for (size_t t = 0; t < schema.nodes.size(); ++t) {
    GraphSchema::Nodes& type = schema.nodes[t];
    const auto items = data.nodes.find(type.name);
    if (items == data.nodes.end())
      data_fail("{}: no nodes of type '{}', on which {} was trained; expected {}", file, excerpt(type.name),
                model.origin, fmt::join(data.graph.node_types(), ", "));
    const std::string place = place_of(file, type.name);
    const int64_t count = data.num_nodes(type.name);
    if (type.features == 0) {
      if (items->second.num_features() > 0)
        log_warning("{}: features are not used, {} was trained without", place, model.origin);
      items->second.x = {}, items->second.x_in_file = {};
      numbers[type.name] = numbers_of(items->second, count, types.nodes[t], type.count, place, model.origin);
      continue;
    }
    type.count = count;
    Dataset alone = nodes_alone(data, type.name);
    if (alone.num_features() == 0)
      data_fail("{}: no features, but {} was trained on {} columns", place, model.origin, type.features);
    const models::Preprocessing& inputs = types.nodes[t].inputs;
    match_features(alone, place, inputs.feature_names, inputs.encoder, model.origin);
    if (alone.num_features() != type.features)
      data_fail("{}: {} columns, but {} was trained on {}", place, alone.num_features(), model.origin,
                type.features);
    scale_features(alone, place, inputs.scaling);
    items->second.x = alone.x ? Features(alone.x.to_dense()) : Features();
    items->second.x_in_file = alone.x_in_file;
  }
  log_left_out(data, schema);
  MatchedTypes matched;
  matched.target = nodes_alone(data, schema.nodes.front().name);
  std::vector<int32_t> rows;
  const std::vector<int64_t> offsets = schema.offsets();
  for (size_t t = 0; t < schema.targets; ++t) {
    const std::string& type = schema.nodes[t].name;
    Tensor numbered = detail::range(0, data.num_nodes(type));
    if (const auto renumbered = numbers.find(type); renumbered != numbers.end()) {
      const bool same = renumbered->second.numel() == schema.nodes[t].count &&
                        renumbered->second.to_vector<int32_t>() == numbered.to_vector<int32_t>();
      numbered = renumbered->second;
      if (same) numbers.erase(renumbered);
    }
    for (const int32_t row : numbered.to_vector<int32_t>())
      rows.push_back(static_cast<int32_t>(offsets[t]) + row);
  }
  matched.rows = Tensor::from(rows);
  if (types.link) match_links(data, file, *types.link, matched);
  matched.joint = at_place(file, "edges", [&] { return joint_dataset(data, schema, numbers); });
  return matched;
}

}  // namespace adj::training
