#include <adjoint/models/detail/onnx_models.h>
#include <adjoint/models/positional_encoding.h>

#include <numeric>

namespace adj::detail {

using models::EdgeWeights, models::NodeFeatures;

namespace {

/// Columns of features made of the graph: [nodes, columns].
OnnxValue made_features(const ModelDescription& model, const OnnxEdges& edges) {
  OnnxGraph& graph = *edges.nodes.graph;
  const int64_t columns = model.num_features;
  const OnnxValue shape = concat({edges.nodes, graph.integers({1})});
  if (model.options.node_features == NodeFeatures::constant) return filled(shape, 1.0f);
  const OnnxValue ones = unsqueeze(filled(shape_of(edges.target, 0, 1), 1.0f), 1);
  const OnnxValue degree = reduce_by(Reduce::sum, ones, edges.target, edges.nodes);
  if (model.options.node_features == NodeFeatures::degree && columns == 1) return degree;
  std::vector<int64_t> numbers(static_cast<size_t>(columns));
  std::iota(numbers.begin(), numbers.end(), 0);
  const OnnxValue column = graph.constant("degrees", Tensor::from(numbers));
  // Gathered, so that a degree without a column is an error, as in a prediction here.
  const OnnxValue place = gather(column, cast(degree, DType::i64));
  return cast(graph.node("Equal", {place, column}), DType::f32);
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

/// x [nodes, F], or absent, with the columns of --positional.
OnnxValue encoded(const ModelDescription& model, const OnnxValue& x, const OnnxEdges& edges) {
  const int64_t columns = models::positional_columns(model.options);
  if (columns == 0) return x;
  OnnxGraph& graph = *edges.nodes.graph;
  OnnxValue encoding;
  if (model.options.positional == models::Positional::degree) {
    const OnnxValue ones = unsqueeze(filled(shape_of(edges.target, 0, 1), 1.0f), 1);
    encoding =
        graph.node("Log", {reduce_by(Reduce::sum, ones, edges.target, edges.nodes) + graph.number(1.0f)});
  } else {
    encoding = graph.input("positional", DType::f32, {"nodes", std::to_string(columns)});
  }
  return x ? concat({x, encoding}, 1) : encoding;
}

}  // namespace

OnnxInputs onnx_inputs(OnnxGraph& graph, const ModelDescription& model, bool takes_weights) {
  const NodeFeatures kind = model.options.node_features;
  const bool alone =
      kind == NodeFeatures::file && model.num_features == 0;  // --positional is all that nodes have
  const bool has_x = (kind == NodeFeatures::file && !alone) || kind == NodeFeatures::random_walk;
  OnnxInputs in;
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
  if (!has_x && !alone) in.x = made_features(model, in.edges);
  if (!alone) in.x = quantized(model.quantization, scaled(model.scaling, in.x));
  in.x = encoded(model, in.x, in.edges);
  return in;
}

}  // namespace adj::detail
