#include <adjoint/training/search/space.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

namespace adj::training {

using Kind = Parameter::Kind;

std::string Parameter::text(double value) const {
  if (kind == Kind::choice) return choices[static_cast<size_t>(value)];
  return kind == Kind::integer ? fmt::format("{}", static_cast<int64_t>(value)) : fmt::format("{}", value);
}

std::pair<double, double> Parameter::interval() const {
  const double margin = kind == Kind::integer ? 0.5 * step : 0.0;
  return {position_of(low - margin), position_of(high + margin)};
}

double Parameter::value_in(double position) const {
  double value = log ? std::exp(position) : position;
  if (kind == Kind::integer) value = low + std::round((value - low) / step) * step;
  return std::clamp(value, low, high);
}

double Parameter::position_of(double value) const { return log ? std::log(value) : value; }

std::vector<double> Parameter::grid() const {
  std::vector<double> values;
  if (kind == Kind::choice)
    for (size_t k = 0; k < choices.size(); ++k) values.push_back(static_cast<double>(k));
  if (kind == Kind::integer)
    for (double value = low; value <= high; value += step) values.push_back(value);
  if (kind == Kind::real)
    for (int64_t k = 0; k < points; ++k) {
      const double share = static_cast<double>(k) / static_cast<double>(points - 1);
      const double value = log ? low * std::pow(high / low, share) : low + share * (high - low);
      values.push_back(std::clamp(std::stod(fmt::format("{:.12g}", value)), low, high));
    }
  return values;
}

bool is_active(const std::vector<Parameter>& space, const Assignment& values, size_t k) {
  return std::ranges::all_of(space[k].when, [&](const Parameter::Condition& condition) {
    const std::optional<double> value = values[condition.parameter];
    return value && std::ranges::count(condition.choices, static_cast<size_t>(*value)) > 0;
  });
}

Draws::Draws(uint64_t seed, size_t trial, size_t parameter)
    : seed_(seed), stream_((uint64_t{trial} << 20) + parameter) {}

double Draws::uniform() {
  const PhiloxBlock bits = philox(seed_, stream_, block_++);
  return static_cast<double>((uint64_t{bits.word[0]} << 32 | bits.word[1]) >> 11) * 0x1.0p-53;
}

double Draws::normal() {
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

size_t Draws::below(size_t count) {
  return std::min(static_cast<size_t>(uniform() * static_cast<double>(count)), count - 1);
}

double random_value(const Parameter& parameter, Draws& draws) {
  if (parameter.kind == Kind::choice) return static_cast<double>(draws.below(parameter.choices.size()));
  const auto [low, high] = parameter.interval();
  return parameter.value_in(low + draws.uniform() * (high - low));
}

Assignment random_assignment(const std::vector<Parameter>& space, uint64_t seed, size_t trial) {
  Assignment values(space.size());
  for (size_t k = 0; k < space.size(); ++k) {
    Draws draws(seed, trial, k);
    if (is_active(space, values, k)) values[k] = random_value(space[k], draws);
  }
  return values;
}

std::vector<Assignment> grid_of(const std::vector<Parameter>& space) {
  std::vector<Assignment> all{Assignment(space.size())};
  for (size_t k = 0; k < space.size(); ++k) {
    std::vector<Assignment> longer;
    for (const Assignment& values : all) {
      if (!is_active(space, values, k)) {
        longer.push_back(values);
        continue;
      }
      for (const double value : space[k].grid()) {
        longer.push_back(values);
        longer.back()[k] = value;
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace adj::training
