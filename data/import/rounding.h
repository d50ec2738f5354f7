#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// Numbers of a column that became others as float32: by 1 or more, as whole ones from 2^24 may; by less, if
/// the largest difference is more than 1e-4 of the column's range, as of degrees; and those that became 0.
class Rounding {
 public:
  /// `number`: of the text `field`, with either decimal mark.
  void add(std::string_view field, float number) {
    constexpr size_t kShort = 8;  // a fraction of fewer characters does not make a whole number
    constexpr double kWide = 1e-3;
    const bool is_exact = field.size() <= kShort && number == std::floor(number),
               is_harmless = greatest_ - least_ > kWide * std::abs(number);  // 2^-24 of it is next to nothing
    if (number == 0.0f) zeros_ += vanishes(field);
    if (number == 0.0f || (is_small(number) && (is_exact || is_harmless)))
      extend(number);
    else
      add_text(field, number);
  }
  /// `number`: `value` as float32.
  template <class Value>
  void add_value(Value value, float number) {
    if (!std::isfinite(number)) return;
    extend(static_cast<double>(value));
    if (number == 0.0f)
      zeros_ += value != Value{};
    else
      add_difference(static_cast<long double>(value) - static_cast<long double>(number));
  }
  void merge(const Rounding& others);  ///< counts those of others too, in the same column
  static Rounding total(const std::vector<Rounding>& columns);  ///< of all of them
  bool empty() const { return count() == 0 && zeros_ == 0; }    ///< nothing to be said
  int64_t zeros() const { return zeros_; }                      ///< how many became 0
  /// "3 weights are rounded to float32, by 8 at most; 2 weights are 0 as float32, which has none so small";
  /// or empty.
  std::string text(std::string_view noun) const;
  /// The same after "; ", for a note.
  std::string note(std::string_view noun) const;

 private:
  struct Differences {
    int64_t count = 0;  ///< numbers that differ
    double most = 0.0;  ///< the largest difference
    /// Adds those of others.
    void merge(const Differences& others) {
      count += others.count;
      most = std::max(most, others.most);
    }
  };

  /// How many differ, and the largest difference.
  int64_t count() const { return units_.count + (spoils() ? fractions_.count : 0); }
  double most() const { return std::max(units_.most, spoils() ? fractions_.most : 0.0); }
  static bool is_small(float number) { return std::abs(number) < 0x1p24f; }
  /// Whether the text of a number that became 0 is that of another.
  static bool vanishes(std::string_view field) {
    constexpr size_t kShortest = 5;  // 1e-50
    const size_t first = field.size() < kShortest ? field.npos : field.find_first_of("123456789eE");
    return first != field.npos && field[first] <= '9';
  }
  void extend(double value) {
    least_ = std::min(least_, value);
    greatest_ = std::max(greatest_, value);
  }
  bool spoils() const;
  void add_text(std::string_view field, float number);
  void add_difference(long double difference);

  Differences units_, fractions_;  // of 1 or more, and less
  int64_t zeros_ = 0;
  double least_ = std::numeric_limits<double>::infinity(), greatest_ = -least_;
};

}  // namespace adj
