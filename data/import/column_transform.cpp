#include <adjoint/core/error.h>
#include <adjoint/data/import/detail/column_numbers.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace adj {

namespace {

constexpr int64_t kQuantiles = 1000;
constexpr double kBound = 1e-7;  // ranks closer to 0 or 1 are clamped
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

/// Σ c[k] x^k.
template <size_t N>
double polynomial(const std::array<double, N>& c, double x) {
  double sum = 0.0;
  for (size_t k = N; k-- > 0;) sum = sum * x + c[k];
  return sum;
}

}  // namespace

float detail::imputed_value(Imputation imputation, std::vector<float> values) {
  if (imputation == Imputation::zero) return 0.0f;
  ADJ_CHECK(!values.empty(), "imputed_value: no values");
  if (imputation == Imputation::mean)
    return static_cast<float>(std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size()));
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  if (imputation == Imputation::median)
    return n % 2 == 1 ? values[n / 2] : 0.5f * values[n / 2 - 1] + 0.5f * values[n / 2];
  float best = values[0];
  size_t most = 0;
  for (size_t begin = 0, end = 0; begin < n; begin = end) {
    while (end < n && values[end] == values[begin]) ++end;
    if (end - begin <= most) continue;
    most = end - begin;
    best = values[begin];
  }
  return best;
}

ColumnFit::ColumnFit(ColumnTransform transform, std::vector<float> values, int64_t rows)
    : transform_(transform) {
  ADJ_CHECK(!values.empty() && static_cast<int64_t>(values.size()) <= rows, "ColumnFit: {} values of {} rows",
            values.size(), rows);
  if (transform == ColumnTransform::standard) fit_standard(values);
  if (transform == ColumnTransform::min_max) fit_min_max(values);
  if (transform == ColumnTransform::quantile_normal || transform == ColumnTransform::quantile_uniform)
    fit_quantiles(std::move(values), rows);
}

void ColumnFit::fit_standard(const std::vector<float>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double sum = 0.0, squares = 0.0;
  for (float value : values) {
    const double off = value - mean;
    sum += off;
    squares += off * off;
  }
  const double variance = (squares - sum * sum / n) / n;
  // The variance of a constant column may be nonzero from rounding.
  const double rounding = n * mean * kEpsilon;
  const bool constant = variance <= n * kEpsilon * variance + rounding * rounding;
  shift_ = mean;
  scale_ = constant ? 1.0 : std::sqrt(variance);
}

void ColumnFit::fit_min_max(const std::vector<float>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  float range = *most - *least;
  if (range < 10.0f * std::numeric_limits<float>::epsilon()) range = 1.0f;
  const float scale = 1.0f / range;
  scale_ = scale;
  shift_ = 0.0f - *least * scale;
}

/// Interpolates between sorted values as numpy.nanpercentile does, with differences in float32.
void ColumnFit::fit_quantiles(std::vector<float> values, int64_t rows) {
  std::sort(values.begin(), values.end());
  const size_t count = static_cast<size_t>(std::clamp<int64_t>(rows, 1, kQuantiles)),
               last = values.size() - 1;
  const double step = count > 1 ? 1.0 / static_cast<double>(count - 1) : 0.0;
  for (size_t k = 0; k < count; ++k) {
    const double reference = k > 0 && k + 1 == count ? 1.0 : static_cast<double>(k) * step;
    const double position = static_cast<double>(last) * (reference * 100.0 / 100.0);
    const size_t before = std::min(last, static_cast<size_t>(position)), after = std::min(last, before + 1);
    const double t = position - static_cast<double>(before);
    const float difference = values[after] - values[before];
    references_.push_back(reference);
    quantiles_.push_back(t < 0.5 ? values[before] + difference * t : values[after] - difference * (1.0 - t));
  }
}

/// The mean of numpy.interp from quantiles to references in both directions; for equal quantiles this gives
/// the middle.
double ColumnFit::rank(double x) const {
  const std::vector<double>&q = quantiles_, &r = references_;
  const size_t last = q.size() - 1;
  const auto between = [&](size_t low, size_t high) {
    return (r[high] - r[low]) / (q[high] - q[low]) * (x - q[low]) + r[low];
  };
  if (x < q[0]) return r[0];
  if (x > q[last]) return r[last];
  const size_t up = static_cast<size_t>(std::upper_bound(q.begin(), q.end(), x) - q.begin()) - 1;
  const size_t down = static_cast<size_t>(std::lower_bound(q.begin(), q.end(), x) - q.begin());
  const double upper = up == last || q[up] == x ? r[up] : between(up, up + 1);
  const double lower = down == 0 || q[down] == x ? r[down] : between(down, down - 1);
  return 0.5 * (upper + lower);
}

float ColumnFit::operator()(float x) const {
  if (std::isnan(x)) return x;
  switch (transform_) {
    case ColumnTransform::none:
      return x;
    case ColumnTransform::standard:
      return static_cast<float>(static_cast<float>(x - shift_) / scale_);
    case ColumnTransform::min_max:
      return x * static_cast<float>(scale_) + static_cast<float>(shift_);
    case ColumnTransform::quantile_uniform:
      if (x == quantiles_.front()) return 0.0f;
      if (x == quantiles_.back()) return 1.0f;
      return static_cast<float>(rank(x));
    case ColumnTransform::quantile_normal:
      break;
  }
  static const double least = detail::normal_quantile(kBound - kEpsilon),
                      most = detail::normal_quantile(1.0 - (kBound - kEpsilon));
  constexpr auto kBoundOfX = static_cast<float>(kBound);
  if (x - kBoundOfX < quantiles_.front()) return static_cast<float>(least);
  if (x + kBoundOfX > quantiles_.back()) return static_cast<float>(most);
  const auto p = static_cast<float>(rank(x));
  if (p <= 0.0f) return static_cast<float>(least);
  if (p >= 1.0f) return static_cast<float>(most);
  const auto z = static_cast<float>(detail::normal_quantile(p));
  return static_cast<float>(std::clamp<double>(z, least, most));
}

double detail::normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    constexpr std::array<double, 8> a = {
        3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
        4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3};
    constexpr std::array<double, 8> b = {
        1.0000000000000000000e0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
        2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3};
    const double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  const double r = std::sqrt(-std::log(q < 0.0 ? p : 1.0 - p));
  double z = 0.0;
  if (r <= 5.0) {
    constexpr std::array<double, 8> c = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                         5.76949722146069140550e0,  3.64784832476320460504e0,
                                         1.27045825245236838258e0,  2.41780725177450611770e-1,
                                         2.27238449892691845833e-2, 7.74545014278341407640e-4};
    constexpr std::array<double, 8> d = {1.00000000000000000000e0,  2.05319162663775882187e0,
                                         1.67638483018380384940e0,  6.89767334985100004550e-1,
                                         1.48103976427480074590e-1, 1.51986665636164571966e-2,
                                         5.47593808499534494600e-4, 1.05075007164441684324e-9};
    z = polynomial(c, r - 1.6) / polynomial(d, r - 1.6);
  } else {
    constexpr std::array<double, 8> e = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                         1.78482653991729133580e0,  2.96560571828504891230e-1,
                                         2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                         2.71155556874348757815e-5, 2.01033439929228813265e-7};
    constexpr std::array<double, 8> f = {1.00000000000000000000e0,  5.99832206555887937690e-1,
                                         1.36929880922735805310e-1, 1.48753612908506148525e-2,
                                         7.86869131145613259100e-4, 1.84631831751005468180e-5,
                                         1.42151175831644588870e-7, 2.04426310338993978564e-15};
    z = polynomial(e, r - 5.0) / polynomial(f, r - 5.0);
  }
  return q < 0.0 ? -z : z;
}

}  // namespace adj
