#include <adjoint/core/text.h>
#include <adjoint/data/import/table_head.h>
#include <adjoint/data/import/thousands.h>

#include <algorithm>

namespace adj {

namespace {

constexpr size_t kGroup = 3;  // digits

std::string_view without_sign(std::string_view text) {
  text = trimmed(text);
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return text;
}

size_t leading_digits(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789"), text.size());
}

}  // namespace

bool has_thousands(std::string_view number) {
  std::string_view rest = without_sign(number);
  const size_t first = leading_digits(rest);
  if (first == 0 || first > kGroup || first == rest.size() || rest[0] == '0' || rest[first] != '.')
    return false;
  rest.remove_prefix(first);
  while (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    if (leading_digits(rest) != kGroup) return false;
    rest.remove_prefix(kGroup);
  }
  return rest.empty() ||
         (rest[0] == ',' && rest.size() > 1 && leading_digits(rest.substr(1)) + 1 == rest.size());
}

void Thousands::add(std::string_view number) {
  const std::string_view digits = without_sign(number);
  const size_t whole = leading_digits(digits);
  if (whole == digits.size()) {
    hundreds_ = hundreds_ || (whole == kGroup && digits[0] != '0');
    others_ = others_ || whole > kGroup;
  } else if (has_thousands(number)) {
    if (count_++ == 0) first_ = trimmed(number);
  } else {
    others_ = true;
  }
}

void Thousands::merge(const Thousands& later) {
  if (count_ == 0) first_ = later.first_;
  count_ += later.count_;
  hundreds_ = hundreds_ || later.hundreds_;
  others_ = others_ || later.others_;
}

void Thousands::expect_decimal(const TextSource& source, const TableHead& head,
                               std::string_view column) const {
  if (head.decimal || head.format.separator != Separator::semicolon) return;
  if (count_ == 0 || others_ || !hundreds_) return;
  const std::string whole = [&] {
    std::string text = first_;
    std::erase(text, '.');
    return text;
  }();
  source.fail(
      0,
      "\"{}\" in {}, whose points may stand between thousands, expected --decimal comma ({} is {}) or "
      "point to say which",
      excerpt(first_), column, excerpt(first_), excerpt(whole));
}

std::string Thousands::note(const TableHead& head, std::string_view noun) const {
  if (count_ == 0 || head.decimal != Decimal::comma) return "";
  return fmt::format("; {} {}{} points between thousands", count_, noun, count_ == 1 ? " has" : "s have");
}

}  // namespace adj
