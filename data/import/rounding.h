#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace adj {

/// Numbers of a column that became others as float32: whole ones, all of which it holds up to 2^24, and those
/// with fractions if the largest difference is more than 1e-4 of the column's range, as of times in seconds
/// since 1970.
class Rounding {
 public:
  /// `number`: of the text `field`, with either decimal mark.
  void add(std::string_view field, float number) {
    constexpr size_t kShort = 8;  // a fraction of fewer characters does not make a whole number
    constexpr double kWide = 1e-3;
    const bool is_exact = field.size() <= kShort && number == std::floor(number),
               is_harmless = greatest_ - least_ > kWide * std::abs(number);  // 2^-24 of it is next to nothing
    if (is_small(number) && (is_exact || is_harmless))
      extend(number);
    else
      add_text(field, number);
  }
  /// `number`: `value` as float32.
  template <class Value>
  void add_value(Value value, float number) {
    if (!std::isfinite(number)) return;
    extend(static_cast<double>(value));
    bool whole = true;
    if constexpr (std::is_floating_point_v<Value>) whole = value == std::floor(value);
    if (!whole || !is_small(number))
      add_difference(static_cast<long double>(value) - static_cast<long double>(number), whole);
  }
  void merge(const Rounding& others);  ///< counts those of others too, in the same column
  static Rounding total(const std::vector<Rounding>& columns);
  /// How many, and the largest difference.
  int64_t count() const { return whole_.count + (spoils() ? fractions_.count : 0); }
  double most() const { return std::max(whole_.most, spoils() ? fractions_.most : 0.0); }
  /// "3 weights are rounded to float32, by 8 at most"; or empty.
  std::string text(std::string_view noun) const;
  /// The same after "; ", for a note.
  std::string note(std::string_view noun) const;

 private:
  struct Differences {
    int64_t count = 0;
    double most = 0.0;
    void merge(const Differences& others) {
      count += others.count;
      most = std::max(most, others.most);
    }
  };

  static bool is_small(float number) { return std::abs(number) < 0x1p24f; }
  void extend(double value) {
    least_ = std::min(least_, value);
    greatest_ = std::max(greatest_, value);
  }
  bool spoils() const;
  void add_text(std::string_view field, float number);
  void add_difference(long double difference, bool whole);

  Differences whole_, fractions_;
  double least_ = std::numeric_limits<double>::infinity(), greatest_ = -least_;
};

}  // namespace adj
