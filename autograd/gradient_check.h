#pragma once

#include <adjoint/autograd/variable.h>

#include <functional>
#include <string>
#include <vector>

namespace adj {

/// Result of check_gradients(): `passed` if no element's error exceeds the tolerance.
struct GradientCheck {
  bool passed = false;
  double worst = 0.0;   ///< largest |analytic - numeric| / max(1, |numeric|)
  std::string message;  ///< the worst input and element, for a failed check
};

/// Checks the gradients of `f` against central differences in float64. f takes variables made from `inputs`
/// (all float64) and returns a variable of any shape, which is reduced with fixed random weights. Every call
/// of `f` must compute the same function: random ops need a generator that `f` resets. O(elements) calls of
/// `f`.
GradientCheck check_gradients(const std::function<Var(const std::vector<Var>&)>& f,
                              const std::vector<Tensor>& inputs, double step = 1e-5, double tolerance = 1e-6);

}  // namespace adj
