#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/times.h>

#include <algorithm>
#include <chrono>

namespace adj {

namespace {

constexpr int64_t kSecond = 1'000'000, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;

/// Reads a text from its beginning.
class DateCursor {
 public:
  explicit DateCursor(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  bool skip(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool skip(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  /// The name of a zone in brackets, as the last thing.
  void skip_name() {
    if (rest_.starts_with('[') && rest_.find(']') == rest_.size() - 1) rest_ = {};
  }
  /// A number of exactly so many digits.
  std::optional<int64_t> digits(size_t count) {
    int64_t number = 0;
    if (rest_.size() < count) return {};
    for (const char c : rest_.substr(0, count)) {
      if (c < '0' || c > '9') return {};
      number = 10 * number + (c - '0');
    }
    rest_.remove_prefix(count);
    return number;
  }
  /// The same, from `least` to `most`.
  std::optional<int64_t> digits(size_t count, int64_t least, int64_t most) {
    const std::optional<int64_t> number = digits(count);
    return number && *number >= least && *number <= most ? number : std::nullopt;
  }
  /// Microseconds of a fraction of a second; digits beyond are cut off, with `cut` if they are not 0.
  std::optional<int64_t> fraction(bool& cut) {
    int64_t microseconds = 0, place = kSecond / 10;
    if (rest_.empty() || rest_[0] < '0' || rest_[0] > '9') return {};
    for (; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; rest_.remove_prefix(1), place /= 10) {
      microseconds += place * (rest_[0] - '0');
      cut = cut || (place == 0 && rest_[0] != '0');
    }
    return microseconds;
  }

 private:
  std::string_view rest_;
};

struct Clock {
  int64_t begin = 0, length = kDay;  // microseconds since midnight
  bool cut = false;                  // there are digits beyond
};

std::optional<Clock> clock_in(DateCursor& text) {
  const auto hour = text.digits(2, 0, 24);
  if (!hour || !text.skip(':')) return {};
  const auto minute = text.digits(2, 0, 59);
  if (!minute) return {};
  Clock clock{*hour * kHour + *minute * kMinute, kMinute};
  if (!text.skip(':')) return clock;
  const auto second = text.digits(2, 0, 60);  // 60: a leap second
  if (!second) return {};
  clock = {clock.begin + *second * kSecond, kSecond};
  if (!text.skip('.') && !text.skip(',')) return clock;
  bool cut = false;
  const auto fraction = text.fraction(cut);
  if (!fraction) return {};
  return Clock{clock.begin + *fraction, 1, cut};
}

/// East of Greenwich, in microseconds; 0 with `zoned` false if the text has no zone.
std::optional<int64_t> zone_in(DateCursor& text, bool& zoned) {
  zoned = true;
  (void)text.skip(' ');
  if (text.skip('Z') || text.skip('z') || text.skip("UTC") || text.skip("GMT")) return 0;
  const int64_t sign = text.skip('+') ? 1 : text.skip('-') ? -1 : 0;
  zoned = sign != 0;
  if (!zoned) return 0;
  const auto hour = text.digits(2, 0, 23);
  if (!hour) return {};
  if (text.done()) return sign * *hour * kHour;
  (void)text.skip(':');
  const auto minute = text.digits(2, 0, 59);
  if (!minute) return {};
  return sign * (*hour * kHour + *minute * kMinute);
}

std::optional<Time> date_in(std::string_view word) {
  using namespace std::chrono;
  DateCursor text(word);
  const auto year = text.digits(4);
  const char dash = word.substr(std::min<size_t>(4, word.size())).starts_with('/') ? '/' : '-';
  if (!year || !text.skip(dash)) return {};
  const auto month = text.digits(2, 1, 12);
  if (!month) return {};
  const bool has_day = text.skip(dash);
  const auto day = has_day ? text.digits(2, 1, 31) : std::optional<int64_t>(1);
  if (!day) return {};
  const year_month_day date(std::chrono::year(static_cast<int>(*year)),
                            std::chrono::month(static_cast<unsigned>(*month)),
                            std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return {};
  const int64_t midnight = sys_days(date).time_since_epoch().count() * kDay;
  Clock clock;
  int64_t zone = 0;
  bool zoned = false;
  if (!has_day) clock.length = sys_days(date + months(1)).time_since_epoch().count() * kDay - midnight;
  if (has_day && (text.skip('T') || text.skip('t') || text.skip(' '))) {
    const auto found = clock_in(text);
    const auto east = found ? zone_in(text, zoned) : std::nullopt;
    if (!east) return {};
    clock = *found;
    zone = *east;
    if (zoned) text.skip_name();
  }
  if (!text.done()) return {};
  const int64_t begin = midnight + clock.begin - zone;
  return Time{zoned ? TimeKind::zoned_date : TimeKind::date, static_cast<long double>(begin),
              static_cast<long double>(begin + clock.length - 1), clock.cut};
}

}  // namespace

std::optional<Time> time_in(std::string_view text) {
  text = trimmed(text);
  if (const std::optional<int64_t> whole = integer_in(text)) {
    const auto value = static_cast<long double>(*whole);  // exact: 64 bits or more
    return Time{TimeKind::number, value, value};
  }
  if (const std::optional<double> number = double_in(text)) return Time{TimeKind::number, *number, *number};
  return date_in(text);
}

}  // namespace adj
