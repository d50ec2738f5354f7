#include <adjoint/core/error.h>
#include <adjoint/models/detail/onnx_models.h>
#include <adjoint/nn/pooling.h>

namespace adj::detail {

namespace {

using nn::GraphPool;

/// Nodes by graph.
struct Groups {
  OnnxValue batch, count;  ///< int64 [nodes] and [1]
  OnnxValue reduce(Reduce how, const OnnxValue& x) const { return reduce_by(how, x, batch, count); }
  OnnxValue spread(const OnnxValue& x) const { return gather(x, batch); }
  OnnxValue softmax(const OnnxValue& score) const {
    const OnnxValue power = score.graph->node("Exp", {score - spread(reduce(Reduce::max, score))});
    return power / spread(reduce(Reduce::sum, power));
  }
  OnnxValue ones() const { return unsqueeze(filled(shape_of(batch, 0, 1), 1.0f), 1); }
};

/// nn::LSTM::step().
struct Reader {
  OnnxModule module;
  OnnxValue hidden = {}, cell = {};
  void step(const OnnxValue& x) {
    OnnxGraph& graph = module.graph;
    OnnxValue gates =
        matmul(x, module.weight("weight_ih_l0")) + module.weight("bias_ih_l0") + module.weight("bias_hh_l0");
    const OnnxValue recurrent = module.weight("weight_hh_l0");
    if (hidden) gates = gates + matmul(hidden, recurrent);
    const int64_t width = module.extent("weight_hh_l0", 0);
    const auto gate = [&](const char* activation, int64_t k) {
      const auto place = [&](int64_t n) { return graph.integers({n}); };
      return graph.node(activation,
                        {graph.node("Slice", {gates, place(k * width), place((k + 1) * width), place(1)})});
    };
    const OnnxValue added = gate("Sigmoid", 0) * gate("Tanh", 2);
    cell = cell ? gate("Sigmoid", 1) * cell + added : added;
    hidden = gate("Sigmoid", 3) * graph.node("Tanh", {cell});
  }
};

OnnxValue read_set(const OnnxModule& module, const Groups& groups, const OnnxValue& x, int64_t steps) {
  Reader reader{module["lstm"]};
  const OnnxValue shape = concat({groups.count, shape_of(x, 1, 2)});
  OnnxValue read = filled(shape, 0.0f);
  read = concat({read, read}, 1);
  for (int64_t step = 0; step < steps; ++step) {
    reader.step(read);
    const OnnxValue weight = groups.softmax(sum_last(x * groups.spread(reader.hidden), true));
    read = concat({reader.hidden, groups.reduce(Reduce::sum, weight * x)}, 1);
  }
  return read;
}

/// Ranks by all pairs of nodes of a graph: memory grows with the square of the nodes.
OnnxValue keep_best(const Groups& groups, const OnnxValue& x, const OnnxValue& score, double ratio) {
  OnnxGraph& graph = *x.graph;
  const auto pairs = [&](const char* op, const OnnxValue& a, const OnnxValue& b) {
    return graph.node(op, {unsqueeze(a, 1), unsqueeze(b, 0)});
  };
  const OnnxValue flat = reshape(score, {-1}), nodes = shape_of(x, 0, 1);
  const auto scalar = [&](int64_t n) { return graph.node("Squeeze", {graph.integers({n})}); };
  const OnnxValue number = graph.node("Range", {scalar(0), graph.node("Squeeze", {nodes}), scalar(1)});
  const OnnxValue equal_before =
      graph.node("And", {pairs("Equal", flat, flat), pairs("Greater", number, number)});
  const OnnxValue before = graph.node("And", {pairs("Equal", groups.batch, groups.batch),
                                              graph.node("Or", {pairs("Less", flat, flat), equal_before})});
  const OnnxValue rank = sum_last(cast(before, DType::f32), true);
  const OnnxValue size = groups.spread(groups.reduce(Reduce::sum, groups.ones()));
  const OnnxValue kept = graph.node("Less", {rank, size * graph.number(static_cast<float>(ratio))});
  const OnnxValue rows = where(kept, score * x, graph.number(0.0f));
  const OnnxValue count = groups.reduce(Reduce::sum, cast(kept, DType::f32));
  // Others are below all numbers. A graph without nodes has zeros.
  const OnnxValue best = groups.reduce(Reduce::max, where(kept, score * x, graph.number(-1e38f)));
  return concat({groups.reduce(Reduce::sum, rows) / at_least(1.0f, count), best}, 1);
}

}  // namespace

OnnxValue graph_pooling(const OnnxModule& module, const models::GraphModelOptions& o, const OnnxInputs& in,
                        const OnnxValue& x, const OnnxValue& graphs) {
  OnnxGraph& graph = *x.graph;
  const Groups groups{in.batch, graphs};
  switch (o.pool) {
    case GraphPool::sum:
      return groups.reduce(Reduce::sum, x);
    case GraphPool::mean:
      return groups.reduce(Reduce::mean, x);
    case GraphPool::max:
      return groups.reduce(Reduce::max, x);
    case GraphPool::attention:
      return groups.reduce(Reduce::sum, groups.softmax(linear(module["gate"], x)) * x);
    case GraphPool::set2set:
      return read_set(module, groups, x, nn::GraphPoolingOptions{}.steps);
    case GraphPool::topk: {
      const OnnxValue p = module.weight("projection");
      const OnnxValue length = graph.node("Sqrt", {graph.node("ReduceSum", {p * p})});
      return keep_best(groups, x, graph.node("Tanh", {matmul(x, p) / length}), o.pool_ratio);
    }
    case GraphPool::sag: {
      const OnnxModule conv = module["conv"];
      const OnnxValue sum =
          reduce_by(Reduce::sum, gather(x, in.edges.source), in.edges.target, in.edges.nodes);
      const OnnxValue score = linear(conv["lin_rel"], sum) + linear(conv["lin_root"], x);
      return keep_best(groups, x, graph.node("Tanh", {score}), o.pool_ratio);
    }
  }
  fail("ONNX: --pool {} is not exported", name_of(o.pool));
}

}  // namespace adj::detail
