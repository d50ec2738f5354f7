#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/rounding.h>

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace adj {

void Rounding::add_large(std::string_view field, float number) {
  if (const std::optional<int64_t> integer = integer_in(field))
    add_value(*integer, number);
  else if (const std::optional<double> real = double_in(field))
    add_value(*real, number);
}

void Rounding::add_difference(long double difference) {
  if (difference == 0.0L) return;
  ++count;
  most = std::max(most, static_cast<double>(std::abs(difference)));
}

void Rounding::merge(const Rounding& others) {
  count += others.count;
  most = std::max(most, others.most);
}

std::string Rounding::text(std::string_view noun) const {
  if (count == 0) return "";
  return fmt::format("{} {}{} rounded to float32, by {:.15g} at most", count, noun,
                     count == 1 ? " is" : "s are", most);
}

std::string Rounding::note(std::string_view noun) const { return count == 0 ? "" : "; " + text(noun); }

}  // namespace adj
