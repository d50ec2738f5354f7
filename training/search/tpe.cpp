#include <adjoint/training/search/tpe.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace adj::training {

namespace {

constexpr size_t kCandidates = 24, kMostGood = 25, kRecent = 25;
using Kind = Parameter::Kind;

/// Of n observations, the newest last.
std::vector<double> weights_of(size_t n) {
  std::vector<double> weights(n, 1.0);
  const size_t older = n > kRecent ? n - kRecent : 0;
  const double first = 1.0 / static_cast<double>(n);
  for (size_t k = 0; k < older; ++k)
    weights[k] =
        older == 1 ? first : first + (1.0 - first) * static_cast<double>(k) / static_cast<double>(older - 1);
  weights.push_back(1.0);  // of the interval
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// The larger distance of each center to a neighbour; of the outermost ones to their only one.
std::vector<double> distances(const std::vector<double>& centers, double low, double high) {
  const size_t n = centers.size();
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t k) { return centers[k]; });
  std::vector<double> found(n);
  for (size_t k = 0; k < n; ++k) {
    const double center = centers[order[k]];
    const double before = center - (k == 0 ? low : centers[order[k - 1]]);
    const double after = (k + 1 == n ? high : centers[order[k + 1]]) - center;
    found[order[k]] = n == 1       ? std::max(before, after)
                      : k == 0     ? after
                      : k + 1 == n ? before
                                   : std::max(before, after);
  }
  return found;
}

/// Above z, of a standard normal.
double tail(double z) { return 0.5 * std::erfc(z / std::numbers::sqrt2); }

}  // namespace

ParzenEstimator::ParzenEstimator(const Parameter& parameter, const std::vector<double>& observations)
    : parameter_(parameter), weights_(weights_of(observations.size())) {
  if (parameter.kind == Kind::choice) {
    centers_ = observations;
    return;
  }
  std::tie(low_, high_) = parameter.interval();
  for (const double value : observations) centers_.push_back(parameter.position_of(value));
  deviations_ = distances(centers_, low_, high_);
  const double range = high_ - low_,
               least = range / std::min(100.0, static_cast<double>(centers_.size()) + 2.0);
  for (double& deviation : deviations_) deviation = std::clamp(deviation, least, range);
  centers_.push_back(0.5 * (low_ + high_));
  deviations_.push_back(range);
}

double ParzenEstimator::mass(size_t kernel, double left, double right) const {
  const double a = (left - centers_[kernel]) / deviations_[kernel],
               b = (right - centers_[kernel]) / deviations_[kernel];
  if (a > 0.0) return tail(a) - tail(b);  // without cancellation
  return b < 0.0 ? tail(-b) - tail(-a) : 1.0 - tail(-a) - tail(b);
}

double ParzenEstimator::density(size_t kernel, double value) const {
  if (parameter_.kind == Kind::choice) {
    const auto choices = static_cast<double>(parameter_.choices.size());
    if (kernel == centers_.size()) return 1.0 / choices;
    const double more = 1.0 / static_cast<double>(weights_.size());
    return ((centers_[kernel] == value ? 1.0 : 0.0) + more) / (1.0 + more * choices);
  }
  const double whole = mass(kernel, low_, high_);
  if (parameter_.kind == Kind::integer)
    return mass(kernel, parameter_.position_of(value - 0.5 * parameter_.step),
                parameter_.position_of(value + 0.5 * parameter_.step)) /
           whole;
  const double z = (parameter_.position_of(value) - centers_[kernel]) / deviations_[kernel];
  return std::exp(-0.5 * z * z) / (deviations_[kernel] * std::sqrt(2.0 * std::numbers::pi) * whole);
}

double ParzenEstimator::log_density(double value) const {
  double sum = 0.0;
  for (size_t k = 0; k < weights_.size(); ++k) sum += weights_[k] * density(k, value);
  return std::log(sum);
}

double ParzenEstimator::sample(Draws& draws) const {
  double rest = draws.uniform();
  size_t kernel = 0;
  while (kernel + 1 < weights_.size() && rest >= weights_[kernel]) rest -= weights_[kernel++];
  if (parameter_.kind != Kind::choice) {
    // A third of all draws at least are inside, as the center is and no deviation exceeds the interval.
    for (;;) {
      const double position = centers_[kernel] + deviations_[kernel] * draws.normal();
      if (position >= low_ && position <= high_) return parameter_.value_in(position);
    }
  }
  const size_t choices = parameter_.choices.size();
  double level = draws.uniform();
  for (size_t k = 0; k + 1 < choices; ++k) {
    level -= density(kernel, static_cast<double>(k));
    if (level < 0.0) return static_cast<double>(k);
  }
  return static_cast<double>(choices - 1);
}

std::pair<std::vector<Observation>, std::vector<Observation>> split_by_score(
    std::span<const Observation> observations) {
  std::vector<size_t> order(observations.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t k) { return observations[k].score; });
  const size_t best = std::min((observations.size() + 9) / 10, kMostGood);
  std::vector<bool> is_good(observations.size());
  for (size_t k = 0; k < best; ++k) is_good[order[k]] = true;
  std::pair<std::vector<Observation>, std::vector<Observation>> parts;
  for (size_t k = 0; k < observations.size(); ++k)
    (is_good[k] ? parts.first : parts.second).push_back(observations[k]);
  return parts;
}

Assignment tpe_assignment(const std::vector<Parameter>& space, std::span<const Observation> observations,
                          std::span<const Assignment> pending, uint64_t seed, size_t trial) {
  auto [good, others] = split_by_score(observations);
  for (const Assignment& one : pending) others.push_back({&one, 0.0});
  Assignment values(space.size());
  for (size_t k = 0; k < space.size(); ++k) {
    if (!is_active(space, values, k)) continue;
    const auto estimator = [&space, k](const std::vector<Observation>& part) {
      std::vector<double> seen;
      for (const Observation& one : part)
        if ((*one.values)[k]) seen.push_back(*(*one.values)[k]);
      return ParzenEstimator(space[k], seen);
    };
    const ParzenEstimator of_good = estimator(good), of_others = estimator(others);
    Draws draws(seed, trial, k);
    double highest = -std::numeric_limits<double>::infinity();
    for (size_t candidate = 0; candidate < kCandidates; ++candidate) {
      const double value = of_good.sample(draws);
      const double ratio = of_good.log_density(value) - of_others.log_density(value);
      if (values[k] && ratio <= highest) continue;
      values[k] = value;
      highest = ratio;
    }
  }
  return values;
}

}  // namespace adj::training
