#pragma once

#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/linear.h>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace adj::nn {

/// Options of GINConv.
struct GINConvOptions {
  double eps = 0.0;        ///< ε, or its initial value
  bool train_eps = false;  ///< ε is a parameter; else a buffer, of the same name
};

namespace detail {

class KnownValue;

/// ε and the sum before the network.
class GinSum : public Module {
 protected:
  GinSum(const char* layer, const GINConvOptions& options);
  /// 1 + ε, [1] of `dtype`.
  Var root_factor(DType dtype) const;
  /// act((1 + ε) x_i + Σ_j x_j + bias), `bias` optional, `activation` none or relu. With a fixed ε this is
  /// one product with A + (1 + ε) I, which is built once; a captured step keeps the matrix it was captured
  /// with.
  Var summed(const Structure& structure, const Sides& x, const Var& bias = {},
             Activation activation = Activation::none) const;

  const char* layer_;
  Var learned_eps_;  // [1], or absent:
  Tensor eps_;       // [1]

 private:
  std::shared_ptr<KnownValue> known_eps_;  // thread-safe
};

}  // namespace detail

/// h((1 + ε) x_i + Σ_j x_j), h a module that maps [N,in] to [N,out] (Xu et al., How Powerful are Graph Neural
/// Networks?, 2019, eq. 4.1): `GINConv<MLP> conv({.train_eps = true}, std::vector<int64_t>{64, 64, 64})` has
/// "nn.lins.0.weight", … and "eps" in its state. Edge weights are ignored, except those of a normalised graph
/// (Graph::as_normalized). PyG's GINConv.
template <class Net = MLP>
class GINConv : public detail::GinSum {
 public:
  /// `args` construct h.
  template <class... Args>
  explicit GINConv(const GINConvOptions& options, Args&&... args)
      : GinSum("GINConv", options), nn(this, "nn", std::forward<Args>(args)...) {}
  /// x of all nodes, or {x_src [num_src,in], x_dst [num_dst,in]}; x_dst absent: no (1 + ε) x_i term.
  /// With an MLP, sparse and quantised features of a graph are multiplied with the first weight before the
  /// sum, which would densify them.
  Var operator()(const Structure& structure, const Sides& x) const {
    if constexpr (std::is_base_of_v<MLP, Net>)
      if (const Features* features = x.compact(layer_, structure); features != nullptr && nn.commutes())
        return nn.propagated(*features, [&](const Var& y, const Var& bias, Activation activation) {
          return summed(structure, y, bias, activation);
        });
    return nn(summed(structure, x));
  }
  std::string describe() const override { return "GINConv"; }

  Child<Net> nn;
};

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
