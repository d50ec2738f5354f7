#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/models/explain/explainer.h>

#include <cmath>
#include <numbers>
#include <numeric>

namespace adj::models {

namespace {

struct QuadraturePoint {
  double position, weight;
};

/// Gauss-Legendre points of [0, 1], ascending: roots of the Legendre polynomial by Newton's method.
std::vector<QuadraturePoint> gauss_legendre(int64_t count) {
  std::vector<QuadraturePoint> points;
  for (int64_t k = 1; k <= count; ++k) {
    double x =
        -std::cos(std::numbers::pi * (static_cast<double>(k) - 0.25) / (static_cast<double>(count) + 0.5));
    double slope = 0.0;
    for (int step = 0; step < 100; ++step) {
      double last = 1.0, value = x;  // P_0 and P_1
      for (int64_t n = 2; n <= count; ++n) {
        const auto m = static_cast<double>(n);
        last = std::exchange(value, ((2.0 * m - 1.0) * x * value - (m - 1.0) * last) / m);
      }
      slope = static_cast<double>(count) * (x * value - last) / (x * x - 1.0);
      const double change = value / slope;
      x -= change;
      if (std::abs(change) < 1e-15) break;
    }
    points.push_back({0.5 * (x + 1.0), 1.0 / ((1.0 - x * x) * slope * slope)});
  }
  return points;
}

/// a += weight b.
void add_to(std::vector<double>& a, double weight, const Tensor& b) {
  const auto values = b.to(DType::f32).to_vector<float>();
  for (size_t k = 0; k < values.size(); ++k) a[k] += weight * static_cast<double>(values[k]);
}

}  // namespace

double Explanation::attributed() const {
  const auto total = [](const std::vector<float>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0);
  };
  return total(edge_importance) + total(feature_importance);
}

void Explainer::integrate(const ExplainOptions& options, Explanation& result) const {
  const auto count = std::ssize(neighborhood_.reaching);
  const Device device = trained_.device();
  const auto masks = [&](double t) { return Tensor::full({count}, t, DType::f32, device); };
  const auto features = [&](double t) { return scale(Var(dense_), t).value(); };
  std::vector<double> of_edges(static_cast<size_t>(count)),
      of_features(dense_ ? static_cast<size_t>(dense_.numel()) : 0);
  {
    const NoGrad no_grad;
    result.baseline =
        value_of(outputs(spread(Var(masks(0.0))), dense_ ? Var(features(0.0)) : Var()), result.output).item();
  }
  for (const auto& [position, weight] : gauss_legendre(options.steps)) {
    const Var mask = Var::parameter(masks(position)), x = dense_ ? Var::parameter(features(position)) : Var();
    const GradientsOnlyOf inputs(x ? std::vector{mask, x} : std::vector{mask});
    const Var value = value_of(outputs(spread(mask), x), result.output);
    if (!value.requires_grad()) break;
    value.backward();
    if (mask.grad()) add_to(of_edges, weight, mask.grad());
    if (x && x.grad()) add_to(of_features, weight, (Var(x.grad()) * Var(dense_)).value());
  }
  result.edge_importance.assign(of_edges.begin(), of_edges.end());
  if (!dense_) return;
  std::vector<double> columns(static_cast<size_t>(dense_.size(1)));
  for (size_t k = 0; k < of_features.size(); ++k) columns[k % columns.size()] += of_features[k];
  result.feature_importance.assign(columns.begin(), columns.end());
  const std::vector<float> all(of_features.begin(), of_features.end());
  result.node_feature_importance = Tensor::from(all).reshape(dense_.shape());
}

}  // namespace adj::models
