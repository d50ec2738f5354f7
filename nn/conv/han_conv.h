#pragma once

#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/conv/typed_vars.h>
#include <adjoint/nn/linear.h>

#include <deque>
#include <vector>

namespace adj::nn {

/// Options of HANConv.
struct HANConvOptions {
  int64_t heads = 1;            ///< attention heads of width out / heads
  float negative_slope = 0.2f;  ///< of the logits' leaky relu
  float dropout = 0.0f;         ///< of the coefficients, in training mode
};

/// The heterogeneous graph attention network (Wang et al. 2019, eq. 1 to 9; PyG's HANConv): h = x W_t + b_t
/// by type of node; for each type of edges z_i = relu(Σ_j α_ij h_j), α the softmax over j of leaky_relu(⟨s,
/// h_j⟩ + ⟨d, h_i⟩) per head; then for each type of target Σ_r β_r z_r, β the softmax over its relations of
/// ⟨q, mean_i tanh(z_ri K + k)⟩. Coefficients are not stored. W is uniform in ±1 / sqrt(in), as are K, k and
/// b; s, d and q Glorot-uniform. Parameters of types are named as in HeteroConv.
class HANConv : public Module {
 public:
  /// `widths`: of the features of each type of node. Throws Error unless heads divides `out`, and each type
  /// of edges is between types of nodes with a width.
  HANConv(const TypedWidths& widths, int64_t out, const std::vector<EdgeType>& edges,
          const HANConvOptions& options = {});
  /// x by type of node -> [N_t, out] by type of target. A type that the graph has no node of may be absent.
  TypedVars operator()(const HeteroGraph& graph, const TypedVars& x) const;
  std::string describe() const override;

  Child<Linear> k_lin;  ///< K and k
  Var q;                ///< [1, out]

 private:
  struct Kind {
    EdgeType type;       ///< between types of nodes with a width
    Var source, target;  ///< s and d [heads, D]
  };
  std::map<std::string, int64_t, std::less<>> widths_;
  int64_t out_;
  HANConvOptions options_;
  std::map<std::string, Owned<Linear>, std::less<>> proj_;
  std::deque<Kind> kinds_;
};

}  // namespace adj::nn
