#pragma once

#include <adjoint/data/feature_encoder.h>
#include <adjoint/data/import/times.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace adj {

/// What the dates of a column have in common.
class DateRange {
 public:
  /// Adds a field if it is a date, as days_in() says.
  void add(std::string_view field, int64_t line);
  void merge(const DateRange& later);
  /// Whether some have a time zone and some have none, so that they do not compare.
  bool mixes_zones() const { return zoned_.count > 0 && plain_.count > 0; }
  /// Whether all have one; absent: there are no dates.
  std::optional<bool> zones() const {
    return zoned_.count + plain_.count > 0 ? std::optional(zoned_.count > 0) : std::nullopt;
  }
  /// "expected a time zone in all dates or in none, not in 2 of 5".
  std::string mixed() const;
  /// Line and text of the first date that is of another kind than those before.
  int64_t mixed_line() const { return later_kind().line; }
  const std::string& mixed_text() const { return later_kind().text; }
  /// Day from which ColumnEncoder counts: of dates alone 1970-01-01, with times of day the first one, as
  /// float32 holds fewer minutes the more days there are.
  int64_t origin() const;
  /// ", rounded by 5 seconds at most", of days since `origin` as float32; or empty if it is less than one.
  std::string rounding(int64_t origin) const;

 private:
  struct Kind {
    int64_t count = 0, line = 0;
    std::string text = {};
    void merge(const Kind& later);
  };
  const Kind& later_kind() const { return zoned_.line > plain_.line ? zoned_ : plain_; }

  Kind zoned_, plain_;
  double first_ = std::numeric_limits<double>::infinity(), last_ = -first_;  // days since 1970
  bool clocked_ = false;                                                     // some have a time of day
};

}  // namespace adj
