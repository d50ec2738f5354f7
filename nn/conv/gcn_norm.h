#pragma once

#include <adjoint/kernels/elementwise/activation.h>
#include <adjoint/nn/conv/structure.h>
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
///
/// On a relation or block degrees are those within it, as PyG's GCNConv has them on a sampled subgraph cut to
/// one hop (trim_to_layer): targets are the first of the sources, and a source beyond them has no in-edges
/// there, so its added loop alone. Where nothing is normalised the two sides may be of different nodes.
class GcnNorm {
 public:
  GcnNorm(const char* layer, const Structure& on, const GcnNormOptions& options, const Var& edge_weight = {});

  /// act(Â x + bias), x [N,F], of the sources.
  Var operator()(const Var& x, const Var& bias = {}, Activation activation = Activation::none) const;
  /// Â where it takes no gradient: what PropagationCache can keep products with. Null otherwise.
  const SparseMatrix* matrix() const { return weight_ ? nullptr : &matrix_; }
  /// Each entry is dropped with probability p, and the rest is scaled (APPNP). Draws from the model's
  /// generator.
  void drop_entries(float p);

 private:
  SparseMatrix matrix_;
  Relation relation_;
  Var weight_;  // of relation_, or absent: then the matrix holds
  // [N,1], d of targets and of sources; absent: not normalised
  Var inverse_root_, source_root_;
};

}  // namespace adj::nn
