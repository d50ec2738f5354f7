#pragma once

#include "plain.h"
#include <adjoint/nn/module.h>

#include <functional>
#include <vector>

namespace adj::test {

/// Checks a module's gradients for its parameters and for `inputs` (leaves) against central differences, in
/// float64. `f` runs the module, and must compute the same function at every call.
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
    REQUIRE(leaf.grad());
    const std::vector<double> analytic = values(leaf.grad()), start = values(leaf.value());
    const Shape shape = leaf.shape();
    const auto at = [&](size_t i, double step) {
      std::vector<double> moved = start;
      moved[i] += step;
      leaf.set_value(Tensor::from(moved, shape, leaf.device()));
      return loss();
    };
    double worst = 0.0;
    for (size_t i = 0; i < start.size(); ++i) {
      const double numeric = (at(i, kStep) - at(i, -kStep)) / (2.0 * kStep);
      worst = std::max(worst, std::abs(analytic[i] - numeric) / std::max(1.0, std::abs(numeric)));
    }
    leaf.set_value(Tensor::from(start, shape, leaf.device()));
    CHECK(worst < kTolerance);
  }
}

}  // namespace adj::test
