#pragma once

#include <adjoint/core/choice.h>

#include <optional>
#include <string_view>

namespace adj {

/// Whether times are numbers, dates without a time zone, or dates with one: only times of one kind compare.
enum class TimeKind : uint8_t { number, date, zoned_date };
constexpr auto names_of(TimeKind) {  ///< for messages
  return std::array{"a number", "a date without a time zone", "a date with a time zone"};
}

/// A point in time as text says it, exactly: any int64 or double, or microseconds since 1970.
struct Time {
  TimeKind kind = TimeKind::number;  ///< number: begin and end are equal
  long double begin = 0.0L;          ///< first moment that the text includes
  long double end = 0.0L;            ///< last moment that the text includes: for 2021-03 that of March
  bool cut = false;                  ///< of a date: the text has more digits than microseconds
};

/// A number, or a date by ISO 8601: 2021-03, 2021-03-05, 2021-03-05T17:30, with seconds and their fraction,
/// Z, UTC, GMT or +02:00, then also the zone's name in brackets ([Europe/Berlin]); a blank may stand for the
/// T and before the zone, and slashes for the dashes. A year alone is a number. Empty for anything else.
std::optional<Time> time_in(std::string_view text);

}  // namespace adj
