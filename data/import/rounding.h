#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace adj {

/// Whole numbers that became others as float32, which holds all of them up to 2^24.
struct Rounding {
  int64_t count = 0;  ///< how many
  double most = 0.0;  ///< largest difference

  /// `number`: of the text `field`.
  void add(std::string_view field, float number) {
    if (std::abs(number) >= 0x1p24f) add_large(field, number);
  }
  /// `number`: `value` as float32. Fractions are passed over, as float32 holds next to none.
  template <class Value>
  void add_value(Value value, float number) {
    if (!(std::abs(number) >= 0x1p24f) || !std::isfinite(number)) return;
    if constexpr (std::is_floating_point_v<Value>)
      if (value != std::floor(value)) return;
    add_difference(static_cast<long double>(value) - static_cast<long double>(number));
  }
  void merge(const Rounding& others);  ///< counts those of others too
  /// "3 weights are rounded to float32, by 8 at most"; or empty.
  std::string text(std::string_view noun) const;
  /// The same after "; ", for a note.
  std::string note(std::string_view noun) const;

 private:
  void add_large(std::string_view field, float number);
  void add_difference(long double difference);
};

}  // namespace adj
