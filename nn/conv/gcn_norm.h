#pragma once

#include <adjoint/graph/graph.h>
#include <adjoint/kernels/elementwise/activation.h>
#include <adjoint/nn/module.h>

namespace adj::nn {

/// Which matrix a layer of GCN's kind aggregates with, as PyG's layers name it.
struct GcnNormOptions {
  bool normalize = true;       ///< D^-1/2 A D^-1/2, D the sums over in-edges; else A as it is
  bool add_self_loops = true;  ///< of weight 1 to nodes without one, before that; only where `normalize`
  bool improved = false;       ///< these weigh 2
};

/// What GCNConv, SGConv, APPNP, GCN2Conv and TAGConv aggregate with: PyG's gcn_norm. Weights of the graph's
/// own give a matrix that is made once and kept with the graph. Weights that come along, `edge_weight` [M] by
/// edge number, which may require a gradient, stand in their place: then degrees are summed at every pass,
/// and they stand beside the features instead of the edges, y = d ⊙ A_w (d ⊙ x) with d = D^-1/2, so that
/// nothing but the weights' gradient is as large as the edges.
class GcnNorm {
 public:
  GcnNorm(const char* layer, const Graph& graph, const GcnNormOptions& options, const Var& edge_weight = {});

  /// act(Â x + bias), x [N,F].
  Var operator()(const Var& x, const Var& bias = {}, Activation activation = Activation::none) const;
  /// Â where it takes no gradient: what PropagationCache can keep products with. Null otherwise.
  const SparseMatrix* matrix() const { return weight_ ? nullptr : &matrix_; }
  /// Each entry is dropped with probability p, and the rest is scaled (APPNP). Draws from the model's
  /// generator.
  void drop_entries(float p);

 private:
  SparseMatrix matrix_;
  Relation relation_;
  Var weight_;        // of relation_, or absent: then the matrix holds
  Var inverse_root_;  // [N,1], d; absent: not normalised
};

}  // namespace adj::nn
