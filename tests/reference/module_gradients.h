#pragma once

#include "plain.h"
#include <adjoint/nn/module.h>

#include <functional>
#include <vector>

namespace adj::test {

/// Checks a module's gradients for its parameters and for `inputs` (leaves) against central differences, in
/// float64. `f` runs the module, and must compute the same function at every call. Without a gradient,
/// differences must be 0.
inline void check_module(nn::Module& module, const std::vector<Var>& inputs, const std::function<Var()>& f) {
  constexpr double kStep = 1e-5, kTolerance = 1e-6;
  std::vector<Var> leaves = module.parameters();
  leaves.insert(leaves.end(), inputs.begin(), inputs.end());
  for (Var& leaf : leaves) leaf.zero_grad();
  const Var y = f();
  Generator generator(11);
  const Tensor seed = random_normal(y.shape(), 0.0, 1.0, generator, DType::f64, y.device());
  y.backward(seed);
  const std::vector<double> weights = values(seed);
  const auto loss = [&] {
    const NoGrad plain;
    const std::vector<double> out = values(f().value());
    double sum = 0.0;
    for (size_t i = 0; i < out.size(); ++i) sum += weights[i] * out[i];
    return sum;
  };
  for (size_t l = 0; l < leaves.size(); ++l) {
    Var& leaf = leaves[l];
    CAPTURE(l);
    REQUIRE(leaf.dtype() == DType::f64);
    const std::vector<double> start = values(leaf.value()),
                              analytic =
                                  leaf.grad() ? values(leaf.grad()) : std::vector<double>(start.size());
    const Shape shape = leaf.shape();
    const bool has_gradient = static_cast<bool>(leaf.grad());
    const auto value = [&](size_t i, double step) {
      std::vector<double> moved = start;
      moved[i] += step;
      leaf.set_value(Tensor::from(moved, shape, leaf.device()));
      return loss();
    };
    double worst = 0.0;
    for (size_t i = 0; i < start.size(); ++i) {
      const double numeric = (value(i, kStep) - value(i, -kStep)) / (2.0 * kStep);
      worst = std::max(worst, std::abs(analytic[i] - numeric) / std::max(1.0, std::abs(numeric)));
      if (!has_gradient) CHECK(numeric == 0.0);
    }
    leaf.set_value(Tensor::from(start, shape, leaf.device()));
    CHECK(worst < kTolerance);
  }
}

/// The gradients of call(layer, inputs) by the layer's parameters and the inputs, those of empty tensors
/// being absent.
template <class Layer, class Call>
void check_call(Layer&& layer, const std::vector<Tensor>& inputs, Call&& call) {
  layer.to(inputs.front().device());
  layer.to(DType::f64);
  std::vector<Var> all, leaves;
  for (const Tensor& input : inputs) {
    all.push_back(input ? Var::parameter(input) : Var());
    if (input) leaves.push_back(all.back());
  }
  check_module(layer, leaves, [&] { return call(layer, all); });
}

/// For a layer on a graph, with edge values if it takes any.
template <class Layer>
void check_layer(Layer&& layer, const Graph& graph, const Tensor& x, const Tensor& edges = {}) {
  if constexpr (std::is_invocable_v<Layer&, const Graph&, const Var&, const Var&>)
    check_call(layer, {x, edges}, [&](auto& l, const auto& v) { return l(graph, v[0], v[1]); });
  else
    check_call(layer, {x}, [&](auto& l, const auto& v) { return l(graph, v[0]); });
}

}  // namespace adj::test
