#pragma once

#include <adjoint/autograd/gine_sum.h>
#include <adjoint/nn/conv/gin_conv.h>
#include <adjoint/nn/linear.h>

#include <optional>

namespace adj::nn {

/// Options of GINEConv.
struct GINEConvOptions {
  double eps = 0.0;        ///< ε, or its initial value
  bool train_eps = false;  ///< ε is a parameter; else a buffer, of the same name
  /// Width of the edge features, which are then mapped to `in`; absent: they have width `in`.
  std::optional<int64_t> edge_dim = {};
};

namespace detail {

/// The sum before the network, with edge features.
class GineSum : public GinSum {
 public:
  std::optional<Child<Linear>> lin;  ///< W_e and b_e, with edge_dim

 protected:
  GineSum(int64_t in, const GINEConvOptions& options);
  Var summed_with_edges(const Structure& structure, const Sides& x, const Var& edge_attr) const;
};

}  // namespace detail

/// h((1 + ε) x_i + Σ_j relu(x_j + e_ij)), e_ij mapped by W_e and b_e if `edge_dim` is given (Hu et al.,
/// Strategies for Pre-training Graph Neural Networks, 2020), h a module that maps [N,in] to [N,out],
/// constructed from `args`. `edge_attr` [M,edge_dim] by edge number. W_e and b_e are uniform in ±1 /
/// sqrt(edge_dim), as in PyG's GINEConv. Mapped edge features are computed on the fly, never stored.
template <class Net = MLP>
class GINEConv : public detail::GineSum {
 public:
  template <class... Args>
  explicit GINEConv(int64_t in, const GINEConvOptions& options, Args&&... args)
      : GineSum(in, options), nn(this, "nn", std::forward<Args>(args)...) {}
  /// x of all nodes, or {x_src [num_src,in], x_dst [num_dst,in]}; x_dst absent: no (1 + ε) x_i term.
  Var operator()(const Structure& structure, const Sides& x, const Var& edge_attr) const {
    return nn(summed_with_edges(structure, x, edge_attr));
  }
  std::string describe() const override { return "GINEConv"; }

  Child<Net> nn;  ///< h
};

}  // namespace adj::nn
