#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/gradient_check.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/core/random.h>

#include <cmath>

namespace adj {

GradientCheck check_gradients(const std::function<Var(const std::vector<Var>&)>& f,
                              const std::vector<Tensor>& inputs, double step, double tolerance) {
  Tensor weights;
  const auto loss_of = [&](const std::vector<Var>& variables) {
    const Var y = f(variables);
    Generator generator(2024);
    if (!weights) weights = random_normal(y.shape(), 0.0, 1.0, generator, DType::f64, y.device());
    return sum(multiply(y, Var(weights)));
  };

  std::vector<Var> leaves;
  for (const Tensor& input : inputs) {
    ADJ_CHECK(input.dtype() == DType::f64, "check_gradients: expected float64 inputs, got {}", input.str());
    leaves.push_back(Var::parameter(input.clone()));
  }
  loss_of(leaves).backward();

  GradientCheck result;
  result.passed = true;
  const NoGrad values_only;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Device device = inputs[i].device();
    const std::vector<double> original = inputs[i].to_vector<double>();
    const std::vector<double> analytic =
        leaves[i].grad() ? leaves[i].grad().to_vector<double>() : std::vector<double>(original.size(), 0.0);
    for (size_t e = 0; e < original.size(); ++e) {
      const auto evaluate = [&](double shift) {
        std::vector<double> moved = original;
        moved[e] += shift;
        std::vector<Var> variables = leaves;
        variables[i] = Var(Tensor::from(moved, inputs[i].shape(), device));
        return loss_of(variables).item();
      };
      const double numeric = (evaluate(step) - evaluate(-step)) / (2.0 * step);
      const double error = std::abs(analytic[e] - numeric) / std::max(1.0, std::abs(numeric));
      if (error <= result.worst || std::isnan(result.worst)) continue;  // NaN is the worst
      result.worst = error;
      if (!(error <= tolerance)) {
        result.passed = false;
        result.message = fmt::format("input {} {}, element {}: gradient {} by the tape, {} by differences", i,
                                     inputs[i].shape().str(), e, analytic[e], numeric);
      }
    }
  }
  return result;
}

}  // namespace adj
