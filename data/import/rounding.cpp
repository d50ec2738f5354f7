#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/rounding.h>

#include <optional>

#include <fmt/format.h>

namespace adj {

void Rounding::add_text(std::string_view field, float number) {
  if (const std::optional<int64_t> integer = integer_in(field)) return add_value(*integer, number);
  std::optional<double> real = double_in(field);
  if (!real || static_cast<float>(*real) != number) real = double_in(field, Decimal::comma);
  if (real) add_value(*real, number);
}

void Rounding::add_difference(long double difference) {
  const auto size = static_cast<double>(std::abs(difference));
  if (difference != 0.0L) (size >= 1.0 ? units_ : fractions_).merge({1, size});
}

bool Rounding::spoils() const {
  constexpr double kShare = 1e-4, kNoise = 1e-12;  // noise: of equal numbers that were computed in float64
  const double range = greatest_ - least_;
  return fractions_.count > 0 && fractions_.most > kShare * range &&
         range > kNoise * std::max(std::abs(least_), std::abs(greatest_));
}

void Rounding::merge(const Rounding& others) {
  units_.merge(others.units_);
  zeros_ += others.zeros_;
  fractions_.merge(others.fractions_);
  least_ = std::min(least_, others.least_);
  greatest_ = std::max(greatest_, others.greatest_);
}

Rounding Rounding::total(const std::vector<Rounding>& columns) {
  Rounding all;
  for (const Rounding& column : columns) {
    all.units_.merge({column.count(), column.most()});
    all.zeros_ += column.zeros_;
  }
  return all;
}

std::string Rounding::text(std::string_view noun) const {
  const auto counted = [&](int64_t number) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? " is" : "s are");
  };
  std::string text;
  if (count() > 0) text = fmt::format("{} rounded to float32, by {:.15g} at most", counted(count()), most());
  if (zeros_ > 0)
    text +=
        fmt::format("{}{} 0 as float32, which has none so small", text.empty() ? "" : "; ", counted(zeros_));
  return text;
}

std::string Rounding::note(std::string_view noun) const { return empty() ? "" : "; " + text(noun); }

}  // namespace adj
