#include <adjoint/autograd/shape.h>
#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/models/preprocessing.h>
#include <adjoint/models/training_types.h>

namespace adj::models {

namespace {

const Tensor& tensor_of(const Checkpoint& checkpoint, const std::string& name, DType dtype) {
  const Tensor& found = checkpoint.tensor(name);
  if (found.dims() != 1 || found.dtype() != dtype)
    data_fail("{}: tensors/{}: {}, expected {} [*]", checkpoint.path, name, found.str(), name_of(dtype));
  return found;
}

/// The tensors THINGS.names and THINGS.offsets: `count` names of a `thing` each, or none.
std::vector<std::string> names_of(const Checkpoint& checkpoint, const std::string& things,
                                  std::string_view thing, int64_t count) {
  const std::string bytes = things + ".names", offsets = things + ".offsets";
  if (!checkpoint.tensors.contains(bytes)) return {};
  const detail::PackedNames names{tensor_of(checkpoint, bytes, DType::u8),
                                  tensor_of(checkpoint, offsets, DType::i64)};
  const std::vector<int64_t> ends = names.offsets.to_vector<int64_t>();
  bool ascending = !ends.empty() && ends.front() == 0 && ends.back() == names.bytes.numel();
  for (size_t k = 1; k < ends.size(); ++k) ascending = ascending && ends[k] >= ends[k - 1];
  if (!ascending)
    data_fail("{}: tensors/{}: expected ascending numbers from 0 to {}", checkpoint.path, offsets,
              names.bytes.numel());
  std::vector<std::string> texts = detail::unpacked(names);
  if (std::ssize(texts) != count)
    data_fail("{}: tensors/{}: {} names, expected {}", checkpoint.path, offsets, texts.size(), count);
  if (const std::string problem = detail::problem_of_names(texts, thing); !problem.empty())
    data_fail("{}: tensors/{}: {}", checkpoint.path, bytes, problem);
  return texts;
}

/// The tensor `name`, for so many columns.
FeatureEncoder encoder_of(const Checkpoint& checkpoint, const std::string& name, int64_t width,
                          const std::vector<std::string>& names) {
  if (!checkpoint.tensors.contains(name)) return {};
  const Tensor& bytes = tensor_of(checkpoint, name, DType::u8);
  const std::string_view json(reinterpret_cast<const char*>(bytes.data<uint8_t>()),
                              static_cast<size_t>(bytes.numel()));
  const std::string place = fmt::format("{}: tensors/{}", checkpoint.path, name);
  FeatureEncoder encoder = FeatureEncoder::parse(json, place, width);
  if (const std::string problem = detail::problem_of_encoder(encoder, width, names); !problem.empty())
    data_fail("{}: {}", place, problem);
  return encoder;
}

FeatureQuantization quantization_of(const Checkpoint& checkpoint) {
  const int bits = Preprocessing::feature_bits(checkpoint);
  if (bits == FeatureQuantization::kNone) return {};
  const Tensor &scale = tensor_of(checkpoint, "features.scale", DType::f32),
               &zero = tensor_of(checkpoint, "features.zero", DType::f32);
  const int64_t columns = checkpoint.integer("features");
  if (scale.numel() != 1 && scale.numel() != columns)
    data_fail("{}: tensors/features.scale: {}, expected [1] or [{}]", checkpoint.path, scale.str(), columns);
  try {
    return {bits, scale, zero};
  } catch (const Error& error) {
    data_fail("{}: tensors/features.scale: {}", checkpoint.path, error.what());
  }
}

}  // namespace

std::span<const std::string_view> Preprocessing::tensor_names() {
  static constexpr std::string_view kNames[] = {
      "features.mean",    "features.deviation", "features.scale",     "features.zero",
      "features.encoder", "classes.names",      "classes.offsets",    "columns.names",
      "columns.offsets",  "attributes.names",   "attributes.offsets", "attributes.encoder"};
  return kNames;
}

FeatureScaling::Kind Preprocessing::scaling_kind(const Checkpoint& checkpoint) {
  if (const auto fact = checkpoint.facts.find("features.scaling"); fact != checkpoint.facts.end()) {
    if (const auto kind = value_named<FeatureScaling::Kind>(fact->second)) return *kind;
    data_fail("{}: facts@features.scaling: '{}', expected none, rows, standard or real", checkpoint.path,
              excerpt(fact->second));
  }
  const auto raw = checkpoint.facts.find("option.raw-features");
  if (raw == checkpoint.facts.end()) data_fail("{}: facts@features.scaling: missing", checkpoint.path);
  if (raw->second != "true" && raw->second != "false")
    data_fail("{}: facts@option.raw-features: '{}', expected true or false", checkpoint.path,
              excerpt(raw->second));
  return raw->second == "true" ? FeatureScaling::Kind::none : FeatureScaling::Kind::rows;
}

int Preprocessing::feature_bits(const Checkpoint& checkpoint) {
  if (!checkpoint.facts.contains("features.bits")) return FeatureQuantization::kNone;
  const int64_t bits = checkpoint.integer("features.bits", 1, FeatureQuantization::kNone);
  if (bits > PackedRows::kMostBits && bits != FeatureQuantization::kNone)
    data_fail("{}: facts@features.bits: {}, expected 1 to 8 or {}", checkpoint.path, bits,
              FeatureQuantization::kNone);
  return static_cast<int>(bits);
}

EdgeInputs Preprocessing::edge_inputs(const Checkpoint& checkpoint) {
  const auto weights = checkpoint.facts.find("edges.weights");
  if (weights == checkpoint.facts.end()) return {.weights = EdgeWeights::used};
  const auto use = value_named<EdgeWeights>(weights->second);
  if (!use)
    data_fail("{}: facts@edges.weights: '{}', expected unused, used or attribute", checkpoint.path,
              excerpt(weights->second));
  return {.weights = *use, .attributes = checkpoint.integer("edges.attributes", 0, 1 << 20)};
}

Preprocessing Preprocessing::load(const Checkpoint& checkpoint) {
  Preprocessing loaded;
  loaded.edges = edge_inputs(checkpoint);
  loaded.types = TrainingTypes::load(checkpoint);
  loaded.class_names = names_of(checkpoint, "classes", "class", checkpoint.integer("outputs"));
  const int64_t features = checkpoint.integer("features"), attributes = loaded.edges.attributes;
  loaded.feature_names = names_of(checkpoint, "columns", "column", features);
  loaded.encoder = encoder_of(checkpoint, "features.encoder", features, loaded.feature_names);
  loaded.attr_names = names_of(checkpoint, "attributes", "column", attributes);
  loaded.attr_encoder = encoder_of(checkpoint, "attributes.encoder", attributes, loaded.attr_names);
  loaded.quantization = quantization_of(checkpoint);
  const FeatureScaling::Kind kind = scaling_kind(checkpoint);
  if (kind == FeatureScaling::Kind::rows) loaded.scaling = FeatureScaling::rows();
  if (kind == FeatureScaling::Kind::none || kind == FeatureScaling::Kind::rows) return loaded;
  const Tensor &mean = tensor_of(checkpoint, "features.mean", DType::f32),
               &deviation = tensor_of(checkpoint, "features.deviation", DType::f32);
  if (mean.numel() != features)
    data_fail("{}: tensors/features.mean: {}, expected [{}]", checkpoint.path, mean.str(), features);
  try {
    loaded.scaling = FeatureScaling::standard(mean, deviation, kind);
  } catch (const Error& error) {
    data_fail("{}: tensors/features.deviation: {}", checkpoint.path, error.what());
  }
  return loaded;
}

void Preprocessing::save(Checkpoint& checkpoint) const {
  if (types) types->save(checkpoint);
  if (scaling.standardizes()) {
    checkpoint.tensors["features.mean"] = scaling.mean();
    checkpoint.tensors["features.deviation"] = scaling.deviation();
  }
  if (quantization.quantizes()) {
    checkpoint.tensors["features.scale"] = quantization.scale();
    checkpoint.tensors["features.zero"] = quantization.zero();
  }
  for (const auto& [name, columns] :
       {std::pair("features.encoder", &encoder), {"attributes.encoder", &attr_encoder}}) {
    if (columns->empty()) continue;
    const std::string json = columns->json();
    checkpoint.tensors[name] = Tensor::from(std::vector<uint8_t>(json.begin(), json.end()));
  }
  for (const auto& [things, names] :
       {std::pair("classes", &class_names), {"columns", &feature_names}, {"attributes", &attr_names}}) {
    if (names->empty()) continue;
    const auto [bytes, offsets] = detail::packed(*names);
    checkpoint.tensors[fmt::format("{}.names", things)] = bytes;
    checkpoint.tensors[fmt::format("{}.offsets", things)] = offsets;
  }
}

int64_t edge_attribute_columns(const Graph& graph) {
  const auto found = graph.edge_attributes().find("attr");
  if (found == graph.edge_attributes().end()) return 0;
  return found->second.dims() == 1 ? 1 : found->second.size(1);
}

Graph EdgeInputs::apply(const Graph& graph) const {
  Graph taken = graph;
  for (const auto& [name, attribute] : graph.edge_attributes())
    if (name != "type") taken = taken.with_edge_attr(name, {});
  if (width() > 0) {
    const int64_t edges = graph.num_edges(), columns = edge_attribute_columns(graph);
    ADJ_CHECK(attributes == 0 || columns == attributes, "{} edge attribute columns, trained on {}", columns,
              attributes);
    std::vector<Var> parts;
    if (attributes > 0)
      parts.emplace_back(graph.edge_attr("attr").to(DType::f32).reshape({edges, attributes}));
    if (weights == EdgeWeights::attribute) {
      ADJ_CHECK(graph.edge_weight(), "no edge weights, trained with them as an edge attribute");
      parts.emplace_back(graph.edge_weight().reshape({edges, 1}));
    }
    const NoGrad no_grad;
    taken = taken.with_edge_attr("attr", parts.size() == 1 ? parts.front().value() : cat(parts, 1).value());
  }
  return weights == EdgeWeights::used || !taken.edge_weight() ? taken : taken.with_edge_weight({});
}

}  // namespace adj::models
