#pragma once

#include <adjoint/graph/graph.h>
#include <adjoint/nn/conv/graph_conv.h>
#include <adjoint/nn/graph_pool.h>
#include <adjoint/nn/linear.h>
#include <adjoint/nn/lstm.h>

#include <optional>

namespace adj::nn {

/// Options of GraphPooling.
struct GraphPoolingOptions {
  double ratio = 0.5;  ///< `topk` and `sag`: share of a graph's nodes that are kept, rounded up; in (0, 1]
  int64_t steps = 3;   ///< `set2set`: of the LSTM
};

/// Pools the nodes of each graph of a batch: x [N, F] -> [G, width()], graph g having the nodes offsets[g] to
/// offsets[g + 1], `offsets` int64 [G + 1]. A graph without nodes gives zeros.
///  - `sum`, `mean`, `max` [G, F];
///  - `attention` [G, F]: Σ α_i x_i with α the softmax over the graph of a linear map of x_i (Li et al. 2016,
///    eq. 7; PyG's AttentionalAggregation);
///  - `set2set` [G, 2 F]: an LSTM reads the graph `steps` times by attention (Vinyals et al. 2016);
///  - `topk` [G, 2 F]: the nodes of the highest scores s_i = tanh(⟨x_i, p⟩ / |p|), as rows s_i x_i; of these
///  the
///    mean and the maximum, side by side (Gao & Ji 2019; Cangea et al. 2018). Of equal scores the first;
///  - `sag` [G, 2 F]: the same with s = tanh(GraphConv(x)) (Lee et al. 2019, its global architecture).
/// Rows that are left out stay in memory, uncounted, so that a step can be captured. Throws Error for a ratio
/// or number of steps out of range, and for batches of 2^24 nodes or more with topk and sag.
class GraphPooling : public Module {
 public:
  GraphPooling(GraphPool kind, int64_t features, const GraphPoolingOptions& options = {});
  /// [G, width()] of the nodes' rows x [N,F]; graph g has those from offsets[g] to offsets[g + 1].
  Var operator()(const Graph& graph, const Var& x, const Tensor& offsets) const;
  int64_t width() const { return width_of(kind_, features_); }  ///< columns of the result
  static int64_t width_of(GraphPool kind, int64_t features);    ///< the same, before it is made
  std::string describe() const override;

 private:
  Var read_set(const Var& x, const Tensor& offsets) const;
  Var keep_best(const Var& x, const Var& score, const Tensor& offsets) const;

  GraphPool kind_;
  int64_t features_;
  GraphPoolingOptions options_;

 public:
  std::optional<Child<Linear>> gate;     ///< `attention`: [F, 1]
  std::optional<Child<LSTM>> lstm;       ///< `set2set`: 2 F -> F
  Var projection;                        ///< `topk`: p [F, 1]
  std::optional<Child<GraphConv>> conv;  ///< `sag`: F -> 1
};

}  // namespace adj::nn
