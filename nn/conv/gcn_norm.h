#pragma once

#include <adjoint/kernels/types/activation.h>
#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/module.h>

namespace adj::nn {

/// Propagation matrix of GCN-like layers, with the option names of PyG's layers.
struct GcnNormOptions {
  bool normalize = true;       ///< D^-1/2 A D^-1/2, D the sums over in-edges; else A
  bool add_self_loops = true;  ///< of weight 1, on nodes without one, before normalising; only with
                               ///< `normalize`
  bool improved = false;       ///< added self-loops weigh 2
};

/// Propagation matrix of GCNConv, SGConv, APPNP, GCN2Conv and TAGConv: PyG's gcn_norm.
/// The graph's own weights give a matrix that is computed once and kept with the graph. `edge_weight` [M] by
/// edge number replaces them and may require a gradient. Degrees are then summed in every pass and applied to
/// the features instead of the edges, y = d ⊙ A_w (d ⊙ x) with d = D^-1/2, so only the weights' gradient has
/// the size of the edges. A sampled block's weights are used likewise.
///
/// On a relation or block degrees are counted within it, as in PyG's GCNConv on a sampled subgraph trimmed to
/// one hop (trim_to_layer): targets come first among the sources, and a source beyond them has no in-edges,
/// only its added loop. Without normalisation the two sides may be different nodes.
class GcnNorm {
 public:
  GcnNorm(const char* layer, const Structure& structure, const GcnNormOptions& options,
          const Var& edge_weight = {});

  /// act(Â x + bias), x [N,F] of the sources.
  Var operator()(const Var& x, const Var& bias = {}, Activation activation = Activation::none) const;
  /// Â, for PropagationCache; null if it takes a gradient.
  const SparseMatrix* matrix() const { return weight_ ? nullptr : &matrix_; }
  /// Drops each entry with probability p and rescales the rest (APPNP). Draws from the model's generator.
  void drop_entries(float p);

 private:
  /// The matrix of a relation without weights, cached with it.
  static SparseMatrix matrix_of(const char* layer, const Relation& relation, const GcnNormOptions& options);
  /// Adds loops to the weighted edges, and takes the roots of their degrees.
  void normalise(const char* layer, const GcnNormOptions& options);

  SparseMatrix matrix_;
  Relation relation_;
  Var weight_;                     // of relation_; absent: matrix_ is used
  Var target_root_, source_root_;  // [N,1], d; absent: not normalised
};

}  // namespace adj::nn
