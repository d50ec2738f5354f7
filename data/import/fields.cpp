#include <adjoint/core/text.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/thousands.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

namespace adj {

namespace {

/// from_chars does not accept a plus sign; two signs are invalid.
std::string_view unsigned_plus(std::string_view text) {
  text = trimmed(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+') text.remove_prefix(1);
  return text;
}

/// A number with a decimal comma as one with a point; empty if it has a point that is not between thousands,
/// or is long.
std::optional<std::string> with_point(std::string_view text) {
  constexpr size_t kLongest = 100;
  const bool points = text.find('.') != std::string_view::npos;
  if (text.size() > kLongest || (points && !has_thousands(text))) return {};
  std::string number(text);
  if (points) std::erase(number, '.');
  std::replace(number.begin(), number.end(), ',', '.');
  return number;
}

/// from_chars reports overflow and underflow with the same error.
std::optional<double> beyond_range(std::string_view text) {
  const double value = std::strtod(std::string(text).c_str(), nullptr);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

template <class T>
std::optional<T> real_number(std::string_view text) {
  text = unsigned_plus(text);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return {};
  if (error == std::errc::result_out_of_range) {
    const std::optional<double> wide = beyond_range(text);
    if (!wide || std::abs(*wide) > std::numeric_limits<T>::max()) return {};
    return static_cast<T>(*wide);
  }
  if (error != std::errc() || !std::isfinite(value)) return {};
  return value;
}
template <class T>
std::optional<T> real_number(std::string_view text, Decimal decimal) {
  if (decimal == Decimal::point) return real_number<T>(text);
  const std::optional<std::string> number = with_point(text);
  return number ? real_number<T>(*number) : std::nullopt;
}

}  // namespace

std::optional<Separator> Separator::parse(std::string_view choice) {
  if (choice == " ") return blanks;
  if (choice == "\\t") return tab;
  if (choice.empty() || choice.size() > kLongest || choice.find_first_of("\"\r\n") != choice.npos) return {};
  return Separator(choice);
}

std::string name_of(Separator separator) {
  return separator == Separator::comma       ? "a comma"
         : separator == Separator::semicolon ? "a semicolon"
         : separator == Separator::tab       ? "a tab"
         : separator == Separator::blanks    ? "blanks"
                                             : fmt::format("\"{}\"", excerpt(separator.text()));
}

Separator separator_of(std::string_view line, Decimal decimal) {
  for (const Separator& separator : {Separator::tab, Separator::semicolon, Separator::comma})
    if ((separator != Separator::comma || decimal == Decimal::point) && separator.find_in(line) < line.size())
      return separator;
  return Separator::blanks;
}

std::optional<Separator> stated_separator(std::string_view first_line) {
  if (first_line.size() > 2 && first_line.front() == '"' && first_line.back() == '"')
    first_line = first_line.substr(1, first_line.size() - 2);
  constexpr size_t kLength = 5;  // "sep=" and a character
  if (first_line.size() != kLength || lower(first_line.substr(0, kLength - 1)) != "sep=") return {};
  const std::string text = lower(first_line.substr(kLength - 1));
  const bool letter = (text[0] >= '0' && text[0] <= '9') || (text[0] >= 'a' && text[0] <= 'z');
  return letter ? std::nullopt : Separator::parse(text);
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

std::optional<int64_t> integer_in(std::string_view text) { return number_in<int64_t>(unsigned_plus(text)); }
std::optional<int32_t> int32_in(std::string_view text) { return number_in<int32_t>(unsigned_plus(text)); }
std::optional<float> float_in(std::string_view text, Decimal decimal) {
  return real_number<float>(text, decimal);
}
std::optional<double> double_in(std::string_view text, Decimal decimal) {
  return real_number<double>(text, decimal);
}

bool is_number(std::string_view text, Decimal decimal) {
  if (decimal == Decimal::comma) {
    const std::optional<std::string> number = with_point(text);
    return number && is_number(*number);
  }
  text = unsigned_plus(text);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error != std::errc::invalid_argument && end == text.data() + text.size();
}

bool is_missing(std::string_view text) {
  text = trimmed(text);
  if (text.empty() || text == "?" || text == "\"\"" || text == "\\N") return true;
  if (text.size() > 4) return false;
  if (text == "NaT" || text == "<NA>" || text == "#N/A" || text == "-nan") return true;
  const std::string word = lower(text);
  return word == "nan" || word == "na" || word == "n/a" || word == "null" || word == "none";
}

}  // namespace adj
