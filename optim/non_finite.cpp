#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/update/optimizer.h>
#include <adjoint/optim/non_finite.h>

#include <algorithm>
#include <cmath>

namespace adj::optim {

namespace {

bool norm_is_finite(const std::vector<Tensor>& tensors) {
  Tensor norm = Tensor::empty({1}, DType::f64, tensors[0].device());
  kernels::global_norm({.tensors = tensors, .norm = norm});
  return std::isfinite(norm.item());
}

// Squares of finite float64 elements may overflow.
bool is_finite(const Tensor& tensor) {
  if (norm_is_finite({tensor})) return true;
  if (tensor.dtype() != DType::f64) return false;
  const std::vector<double> values = tensor.to_vector<double>();
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace

std::string first_not_finite(const std::vector<std::pair<std::string, Tensor>>& tensors) {
  std::vector<std::pair<std::string, Tensor>> due;
  for (const auto& [name, tensor] : tensors)
    if (is_floating(tensor.dtype()) && tensor.numel() > 0) due.emplace_back(name, tensor);
  for (size_t begin = 0, end = 0; begin < due.size(); begin = end) {
    std::vector<Tensor> together;
    for (; end < due.size() && due[end].second.device() == due[begin].second.device(); ++end)
      together.push_back(due[end].second);
    if (norm_is_finite(together)) continue;
    for (size_t i = begin; i < end; ++i)
      if (!is_finite(due[i].second)) return due[i].first;
  }
  return {};
}

void require_finite(const nn::Module& model, const std::string& when) {
  const std::string name = first_not_finite(model.state());
  if (name.empty()) return;
  const auto parameters = model.named_parameters();
  const bool parameter =
      std::any_of(parameters.begin(), parameters.end(), [&](const auto& p) { return p.first == name; });
  fail("{}: the {} {} is not finite", when, parameter ? "parameter" : "buffer", name);
}

NonFiniteMonitor::NonFiniteMonitor(Device device, DType dtype) : sum_(Tensor::zeros({}, dtype, device)) {}

void NonFiniteMonitor::add(const Tensor& number) {
  kernels::linear_combination({.alpha = 1.0, .a = sum_, .beta = 0.0, .b = number, .y = sum_});
}

bool NonFiniteMonitor::all_finite() {
  const bool finite = std::isfinite(sum_.item());
  if (!finite) sum_.zero_();
  return finite;
}

}  // namespace adj::optim
