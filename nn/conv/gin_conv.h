#pragma once

#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/mlp.h>

#include <memory>
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

}  // namespace adj::nn
