#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/choose.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/segment.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/sort.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/core/choice.h>
#include <adjoint/core/error.h>
#include <adjoint/kernels/index/gather.h>
#include <adjoint/nn/init.h>
#include <adjoint/nn/pooling.h>

namespace adj::nn {

namespace {

/// Softmax over the rows of each graph: e [N,1] -> [N,1].
Var segment_softmax(const Var& e, const Tensor& offsets) {
  const int64_t rows = e.size(0);
  const Var most(segment_max(e, offsets).value());  // a shift, without a gradient
  const Var weight = exp(e - segment_expand(most, offsets, rows));
  return weight / segment_expand(segment_sum(weight, offsets), offsets, rows);
}

/// [N,1] of score's dtype: 1 for the rows of the highest scores of each graph, ceil(ratio n) of n; else 0.
/// By two stable sorts, first of all rows by score, then by graph.
Tensor best_rows(const Tensor& score, const Tensor& offsets, double ratio) {
  const int64_t rows = score.size(0), graphs = offsets.numel() - 1;
  ADJ_CHECK(rows < int64_t{1} << 24, "pooling of the best nodes: {} nodes in a batch, expected below 2^24",
            rows);
  if (rows == 0) return Tensor::zeros({0, 1}, score.dtype(), score.device());
  const Device device = score.device();
  // Numbers of rows and graphs are exact in float32 up to 2^24.
  const auto column = [&](const Tensor& t) { return t.reshape({t.numel(), 1}); };
  const Tensor starts = column(offsets.rows(0, graphs).to(DType::f32));
  const Tensor sizes = (Var(column(offsets.rows(1, graphs + 1).to(DType::f32))) - Var(starts)).value();
  const auto gathered = [&](const Tensor& x, const Tensor& index) {
    Tensor y = Tensor::empty({rows, 1}, DType::f32, device);
    kernels::gather_rows({.x = x, .index = index, .y = y});
    return y;
  };
  const auto spread = [&](const Tensor& of_graphs) {
    return segment_expand(Var(of_graphs), offsets, rows).value();
  };
  const Tensor by_score = sort(Var(score.reshape({rows})), 0, true).indices;
  const Tensor by_graph = sort(Var(gathered(spread(starts), by_score).reshape({rows})), 0).indices;
  const Tensor number = column(detail::row_numbers(rows, device).to(DType::f32));
  // Sorted row k is row best[k]; those of a graph come where its rows are.
  const Tensor best = gathered(gathered(number, by_score), by_graph);
  const Tensor kept = less((Var(number) - Var(spread(starts))).value(), spread((Var(sizes) * ratio).value()));
  const Tensor places = sort(Var(best.reshape({rows})), 0).indices;
  const Tensor result = gathered(kept.to(DType::f32), places);
  return result.to(score.dtype());
}

}  // namespace

int64_t GraphPooling::width_of(GraphPool kind, int64_t features) {
  return kind == GraphPool::set2set || kind == GraphPool::topk || kind == GraphPool::sag ? 2 * features
                                                                                         : features;
}

GraphPooling::GraphPooling(GraphPool kind, int64_t features, const GraphPoolingOptions& options)
    : kind_(kind), features_(features), options_(options) {
  ADJ_CHECK(options.ratio > 0.0 && options.ratio <= 1.0,
            "pooling: a ratio of {}, expected above 0 and at most 1", options.ratio);
  ADJ_CHECK(options.steps > 0, "pooling: {} steps, expected 1 or more", options.steps);
  if (kind == GraphPool::attention) gate.emplace(this, "gate", features, 1);
  if (kind == GraphPool::set2set) lstm.emplace(this, "lstm", 2 * features, features, false);
  if (kind == GraphPool::topk)
    add_parameter("projection", projection, fan_in_bias(features, features).reshape({features, 1}),
                  {.transposed = true});
  if (kind == GraphPool::sag) conv.emplace(this, "conv", features, 1);
}

Var GraphPooling::operator()(const Graph& graph, const Var& x, const Tensor& offsets) const {
  switch (kind_) {
    case GraphPool::sum:
      return segment_sum(x, offsets);
    case GraphPool::mean:
      return segment_mean(x, offsets);
    case GraphPool::max:
      return segment_max(x, offsets);
    case GraphPool::attention:
      return segment_sum(segment_softmax((*gate)(x), offsets) * x, offsets);
    case GraphPool::set2set:
      return read_set(x, offsets);
    case GraphPool::topk: {
      const Var length = cast(sqrt(adj::sum(projection * projection)), x.dtype());  // a sum is float32
      return keep_best(x, tanh(linear(x, projection) / length), offsets);
    }
    case GraphPool::sag:
      return keep_best(x, tanh((*conv)(graph, x)), offsets);
  }
  fail("pooling: an unknown kind");
}

Var GraphPooling::read_set(const Var& x, const Tensor& offsets) const {
  const int64_t graphs = offsets.numel() - 1;
  Var read(Tensor::zeros({graphs, width()}, x.value().dtype(), x.value().device()));
  LSTM::State state;
  for (int64_t step = 0; step < options_.steps; ++step) {
    state = lstm->step(read, state);
    const Var query = segment_expand(state.hidden, offsets, x.size(0));
    const Var weight = segment_softmax(adj::sum(x * query, 1, true), offsets);
    read = cat({state.hidden, segment_sum(weight * x, offsets)}, 1);
  }
  return read;
}

Var GraphPooling::keep_best(const Var& x, const Var& score, const Tensor& offsets) const {
  const Tensor kept = best_rows(score.value(), offsets, options_.ratio);
  const Var rows = score * x * Var(kept);
  const Var count = segment_sum(Var(kept), offsets);
  // Others are below all numbers; 0 of them in an empty graph.
  constexpr double kLowest = 1e38;
  const Var best = segment_max(rows + (Var(kept) - 1.0) * kLowest, offsets);
  const Tensor none = equal(count.value(), 0.0).to(x.value().dtype());
  return cat({segment_sum(rows, offsets) / (count + Var(none)), best}, 1);
}

std::string GraphPooling::describe() const {
  return fmt::format("GraphPooling({}, {} -> {})", adj::name_of(kind_), features_, width());
}

}  // namespace adj::nn
