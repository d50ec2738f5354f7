#include <adjoint/core/error.h>
#include <adjoint/core/file.h>
#include <adjoint/core/text.h>
#include <adjoint/models/detail/onnx_models.h>
#include <adjoint/models/link.h>
#include <adjoint/models/onnx.h>

#include <algorithm>

#include <fmt/ranges.h>

namespace adj {

namespace {

using detail::concat, detail::OnnxGraph, detail::OnnxValue;
using models::EdgeWeights, models::NodeFeatures;

/// Options that only a training has.
constexpr std::string_view kOfTraining[] = {"dropout", "attention-dropout"};
/// Those that every writer reads.
constexpr std::string_view kOfAll[] = {"model", "hidden", "layers", "node-features", "walk-steps"};

/// Refuses what the file would not express.
const detail::OnnxFamily& writer_of(const ModelDescription& model) {
  const detail::OnnxFamily* writer = detail::onnx_family(model.program);
  const std::vector<models::ModelFamily> families = models::families();
  const models::ModelFamily& family =
      *std::ranges::find(families, model.program, &models::ModelFamily::program);
  if (writer == nullptr)
    fail("{}: models of {} are not exported to ONNX{}", model.origin, model.program,
         family.typed           ? ", as their graphs have several types"
         : family.takes("bits") ? ", as they are quantised"
                                : "");
  for (const models::ModelOption& option : family.all_options()) {
    const auto among = [&](const auto& names) {
      return std::ranges::find(names, option.name) != std::end(names);
    };
    if (among(kOfTraining) || among(kOfAll) || among(writer->options)) continue;
    const auto value = model.facts.find("option." + option.name);
    if (value != model.facts.end() && value->second != option.before)
      fail("{}: --{} {} is not exported to ONNX", model.origin, option.name, value->second);
  }
  if (model.options.node_features == NodeFeatures::learned)
    fail("{}: --node-features learned is not exported to ONNX, as only the nodes of the training have some",
         model.origin);
  return *writer;
}

/// Columns of features made of the graph: [nodes, columns].
OnnxValue made_features(const ModelDescription& model, const detail::OnnxEdges& edges) {
  OnnxGraph& graph = *edges.nodes.graph;
  const int64_t columns = model.num_features;
  const OnnxValue shape = concat({edges.nodes, graph.integers({1})});
  if (model.options.node_features == NodeFeatures::constant) return filled(shape, 1.0f);
  const OnnxValue ones = unsqueeze(filled(shape_of(edges.target, 0, 1), 1.0f), 1);
  const OnnxValue degree = reduce_by(Reduce::sum, ones, edges.target, edges.nodes);
  if (model.options.node_features == NodeFeatures::degree && columns == 1) return degree;
  // One-hot, as rows of a matrix: a degree without a column is an error, as in a prediction here.
  std::vector<float> unit(static_cast<size_t>(columns * columns), 0.0f);
  for (int64_t k = 0; k < columns; ++k) unit[static_cast<size_t>(k * columns + k)] = 1.0f;
  const OnnxValue rows = graph.node("Cast", {graph.node("Squeeze", {degree, graph.integers({1})})},
                                    {{"to", int64_t{7}}});  // int64
  return gather(graph.constant("one_hot", Tensor::from(unit, {columns, columns})), rows);
}

/// FeatureScaling::apply(), to the bit for columns: quantisation may follow.
OnnxValue scaled(const FeatureScaling& scaling, const OnnxValue& x) {
  OnnxGraph& graph = *x.graph;
  const auto inverse = [&](const OnnxValue& value) { return graph.node("Reciprocal", {value}); };
  if (scaling.standardizes())
    return (x - graph.constant("features.mean", scaling.mean())) *
           inverse(graph.constant("features.deviation", scaling.deviation()));
  if (scaling.kind() == FeatureScaling::Kind::none) return x;
  const OnnxValue sum = sum_last(x, true);
  return x * inverse(where(graph.node("Equal", {sum, graph.number(0.0f)}), graph.number(1.0f), sum));
}

/// FeatureQuantization::apply(), as numbers.
OnnxValue quantized(const FeatureQuantization& quantization, const OnnxValue& x) {
  if (!quantization.quantizes()) return x;
  OnnxGraph& graph = *x.graph;
  const OnnxValue scale = graph.constant("features.scale", quantization.scale()),
                  zero = graph.constant("features.zero", quantization.zero()),
                  largest = graph.number(static_cast<float>((1 << quantization.bits()) - 1));
  const OnnxValue rounded = graph.node("Round", {x / scale + zero});
  return scale * (graph.node("Min", {graph.node("Max", {rounded, graph.number(0.0f)}), largest}) - zero);
}

/// Declares the inputs of the file, and prepares them.
detail::OnnxInputs inputs_of(OnnxGraph& graph, const ModelDescription& model, bool takes_weights) {
  const NodeFeatures kind = model.options.node_features;
  const bool has_x = kind == NodeFeatures::file || kind == NodeFeatures::random_walk;
  detail::OnnxInputs in;
  if (has_x) in.x = graph.input("x", DType::f32, {"nodes", std::to_string(model.num_features)});
  const OnnxValue ends = graph.input("edge_index", DType::i64, {"2", "edges"});
  const auto row = [&](int64_t k) {
    return graph.node("Squeeze", {gather(ends, graph.integers({k})), graph.integers({0})});
  };
  in.edges = {.source = row(0), .target = row(1), .attr = {}, .weight = {}, .nodes = {}};
  const models::EdgeInputs& edges = model.edges;
  OnnxValue weight;
  if ((edges.weights == EdgeWeights::used && takes_weights) || edges.weights == EdgeWeights::attribute)
    weight = graph.input("edge_weight", DType::f32, {"edges"});
  if (edges.attributes > 0)
    in.edges.attr = graph.input("edge_attr", DType::f32, {"edges", std::to_string(edges.attributes)});
  if (edges.weights == EdgeWeights::attribute) {
    const OnnxValue column = unsqueeze(weight, 1);
    in.edges.attr = in.edges.attr ? concat({in.edges.attr, column}, 1) : column;
  } else {
    in.edges.weight = weight;
  }
  if (model.of_graphs()) in.batch = graph.input("batch", DType::i64, {"nodes"});
  if (!has_x && !in.batch) in.edges.nodes = graph.input("num_nodes", DType::i64, {"1"});
  if (!in.edges.nodes) in.edges.nodes = shape_of(has_x ? in.x : in.batch, 0, 1);
  if (model.task == Task::none) in.pairs = graph.input("pairs", DType::i64, {"2", "pairs"});
  in.x = has_x ? in.x : made_features(model, in.edges);
  in.x = quantized(model.quantization, scaled(model.scaling, in.x));
  return in;
}

void declare_outputs(OnnxGraph& graph, const ModelDescription& model, const detail::OnnxOutputs& found) {
  if (found.embeddings) {
    graph.output("logits", found.logits, {"pairs"});
    graph.output("embeddings", found.embeddings,
                 {"nodes", std::to_string(models::embedding_width(model.options))});
    return;
  }
  OnnxValue y = found.logits;
  if (model.target_mean)
    y = y * graph.constant("targets.deviation", model.target_scale) +
        graph.constant("targets.mean", model.target_mean);
  graph.output(model.target_mean ? "prediction" : "logits", y,
               {std::string(model.things()), std::to_string(model.num_outputs)});
}

/// ["a", "b"].
std::string json_list(const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (const std::string& name : names) texts.push_back(json_text(name));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::map<std::string, std::string> metadata_of(const ModelDescription& model) {
  std::map<std::string, std::string> entries{
      {"program", model.program},
      {"model", model.name},
      {"origin", model.origin},
      {"task", model.task == Task::none ? "link" : std::string(name_of(model.task))},
      {"features_scaling", std::string(name_of(model.scaling.kind()))}};
  for (const auto& [name, value] : model.facts)
    if (name.starts_with("option.")) entries.emplace(name, value);
  for (const auto& [name, names] : {std::pair("class_names", &model.class_names),
                                    {"feature_names", &model.feature_names},
                                    {"edge_attr_names", &model.attr_names}})
    if (!names->empty()) entries.emplace(name, json_list(*names));
  for (const auto& [name, encoder] :
       {std::pair("feature_encoder", &model.encoder), {"edge_attr_encoder", &model.attr_encoder}})
    if (!encoder->empty()) entries.emplace(name, encoder->json());
  return entries;
}

std::vector<std::string> notes_of(const ModelDescription& model) {
  std::vector<std::string> notes;
  if (model.options.node_features == NodeFeatures::random_walk)
    notes.push_back(fmt::format(
        "x are the chances of random walks to be back after 1 to {} steps (--node-features random-walk), "
        "which the file does not compute",
        model.num_features));
  const auto precision = model.facts.find("option.precision");
  if (precision != model.facts.end() && precision->second != name_of(models::Precision::float32))
    notes.push_back(
        fmt::format("trained in {}, computes in float32: outputs differ by rounding from those of predict",
                    precision->second));
  if (model.program.ends_with("gps"))
    notes.emplace_back("attention between all nodes: memory grows with the square of their number");
  if (model.of_graphs())
    notes.emplace_back("graphs without nodes behind the last number in batch have no row");
  return notes;
}

}  // namespace

OnnxFile to_onnx(const TrainedModel& trained) {
  const ModelDescription& model = trained.description();
  const detail::OnnxFamily& writer = writer_of(model);
  OnnxGraph graph(trained.model().state());
  const detail::OnnxInputs in = inputs_of(graph, model, trained.model().edge_support().weights);
  declare_outputs(graph, model, writer.write({graph}, in, model.options));
  const std::vector<std::string> unused = graph.unused_weights();
  if (!unused.empty()) fail("{}: {} is not exported to ONNX", model.origin, unused.front());
  return {graph.bytes(model.name, metadata_of(model)), graph.inputs(), graph.outputs(), notes_of(model)};
}

void save_onnx(const TrainedModel& trained, const std::string& path) {
  replace_file(path, to_onnx(trained).bytes);
}

}  // namespace adj
