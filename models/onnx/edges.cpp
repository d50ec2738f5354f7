#include <adjoint/models/detail/onnx_layers.h>

#include <limits>

namespace adj::detail {

namespace {

OnnxValue not_loop(const OnnxEdges& e) {
  return e.source.graph->node("Not", {e.source.graph->node("Equal", {e.source, e.target})});
}

/// int64 [K]: numbers of the true ones of [M].
OnnxValue numbers_of(const OnnxValue& condition) {
  OnnxGraph& graph = *condition.graph;
  return graph.node("Squeeze", {graph.node("NonZero", {condition}), graph.integers({0})});
}

/// int64 [count]: 0, 1, ….
OnnxValue every(const OnnxValue& count) {
  OnnxGraph& graph = *count.graph;
  const auto scalar = [&](int64_t number) { return graph.node("Squeeze", {graph.integers({number})}); };
  return graph.node("Range", {scalar(0), graph.node("Squeeze", {count}), scalar(1)});
}

/// x [M, F] reduced into `target` [count, F]. Not ScatterND: onnxruntime 1.32 runs its rows in parallel, also
/// those of one target, and loses some.
OnnxValue scatter(const OnnxValue& target, const OnnxValue& x, const OnnxValue& group, const char* how) {
  OnnxGraph& graph = *x.graph;
  const OnnxValue rows = graph.node("Expand", {unsqueeze(group, 1), shape_of(x, 0, 2)});
  return graph.node("ScatterElements", {target, rows, x}, {{"reduction", std::string(how)}});
}

/// float32 [count, 1]: how many of `group` are each.
OnnxValue counts(const OnnxValue& group, const OnnxValue& count) {
  return reduce_by(Reduce::sum, unsqueeze(filled(shape_of(group, 0, 1), 1.0f), 1), group, count);
}

}  // namespace

OnnxEdges with_renewed_loops(const OnnxEdges& e) {
  const OnnxValue kept = numbers_of(not_loop(e)), all = every(e.nodes);
  const OnnxValue target = gather(e.target, kept);
  OnnxEdges looped{concat({gather(e.source, kept), all}), concat({target, all}), {}, {}, e.nodes};
  if (!e.attr) return looped;
  const OnnxValue attr = gather(e.attr, kept);
  looped.attr = concat({attr, reduce_by(Reduce::mean, attr, target, e.nodes)});
  return looped;
}

OnnxEdges with_completed_loops(const OnnxEdges& e) {
  OnnxEdges looped = with_renewed_loops({e.source, e.target, {}, {}, e.nodes});
  if (!e.weight) return looped;
  OnnxGraph& graph = *e.weight.graph;
  const OnnxValue kept = not_loop(e), loops = numbers_of(graph.node("Not", {kept}));
  // The number of each node's last loop; behind the weights of all edges is that of a loop which is added.
  const OnnxValue none = graph.node("Expand", {graph.integers({-1}), concat({e.nodes, graph.integers({1})})});
  const OnnxValue last = graph.node(
      "Squeeze", {scatter(none, unsqueeze(loops, 1), gather(e.target, loops), "max"), graph.integers({1})});
  const OnnxValue added = graph.node("Less", {last, graph.integers({0})});
  const OnnxValue place = where(added, shape_of(e.weight, 0, 1), last);
  const OnnxValue of_loops = gather(concat({e.weight, filled(graph.integers({1}), 1.0f)}), place);
  looped.weight = concat({gather(e.weight, numbers_of(kept)), of_loops});
  return looped;
}

OnnxValue reduce_by(Reduce reduce, const OnnxValue& x, const OnnxValue& group, const OnnxValue& count) {
  ADJ_CHECK(reduce == Reduce::sum || reduce == Reduce::mean || reduce == Reduce::max,
            "ONNX: the reduction {} is not exported, expected sum, mean or max", name_of(reduce));
  OnnxGraph& graph = *x.graph;
  const OnnxValue shape = concat({count, shape_of(x, 1, 2)});
  if (reduce == Reduce::max) {
    const OnnxValue lowest = filled(shape, -std::numeric_limits<float>::infinity());
    const OnnxValue any = graph.node("Greater", {counts(group, count), graph.number(0.0f)});
    return where(any, scatter(lowest, x, group, "max"), graph.number(0.0f));
  }
  const OnnxValue sum = scatter(filled(shape, 0.0f), x, group, "add");
  return reduce == Reduce::sum ? sum : sum / at_least(1.0f, counts(group, count));
}

}  // namespace adj::detail
