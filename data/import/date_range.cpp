#include <adjoint/data/import/detail/date_range.h>
#include <adjoint/data/import/detail/field_encoding.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace adj {

void DateRange::Kind::merge(const Kind& later) {
  if (count == 0) {
    line = later.line;
    text = later.text;
  }
  count += later.count;
}

void DateRange::add(std::string_view field, int64_t line) {
  const std::optional<double> days = days_in(field);
  if (!days) return;
  Kind& kind = time_in(field)->kind == TimeKind::zoned_date ? zoned_ : plain_;
  if (kind.count++ == 0) {
    kind.line = line;
    kind.text = field;
  }
  first_ = std::min(first_, *days);
  last_ = std::max(last_, *days);
  clocked_ = clocked_ || *days != std::floor(*days);
}

void DateRange::merge(const DateRange& later) {
  zoned_.merge(later.zoned_);
  plain_.merge(later.plain_);
  first_ = std::min(first_, later.first_);
  last_ = std::max(last_, later.last_);
  clocked_ = clocked_ || later.clocked_;
}

std::string DateRange::mixed() const {
  return fmt::format("expected a time zone in all dates or in none, not in {} of {}", zoned_.count,
                     zoned_.count + plain_.count);
}

int64_t DateRange::origin() const { return clocked_ ? static_cast<int64_t>(std::floor(first_)) : 0; }

std::string DateRange::rounding(int64_t origin) const {
  if (!clocked_) return "";
  const auto most = static_cast<float>(std::max(std::abs(first_ - static_cast<double>(origin)),
                                                std::abs(last_ - static_cast<double>(origin))));
  const double step =
      static_cast<double>(std::nextafter(most, std::numeric_limits<float>::infinity())) - most;
  const double seconds = step / 2 * 86400.0;
  return seconds < 1.0 ? "" : fmt::format(", rounded by {:.0f} seconds at most", std::ceil(seconds));
}

}  // namespace adj
