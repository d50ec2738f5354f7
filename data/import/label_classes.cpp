#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/field_encoding.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/label_classes.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace adj {

namespace {

/// A whole number of any size: its sign, and its digits without leading zeros; none for 0.
struct Whole {
  bool negative;
  std::string_view digits;
};
std::optional<Whole> whole_in(std::string_view text) {
  text = trimmed(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return {};
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  return Whole{negative && !text.empty(), text};
}
bool operator<(const Whole& a, const Whole& b) {
  if (a.negative != b.negative) return a.negative;
  const Whole &less = a.negative ? b : a, &more = a.negative ? a : b;  // by size
  return std::pair(less.digits.size(), less.digits) < std::pair(more.digits.size(), more.digits);
}

/// A number that double tells from all others of as many digits; larger whole ones would become one class.
std::optional<double> exact_double_in(std::string_view text) {
  constexpr double kExact = 1LL << 53;
  const std::optional<double> value = double_in(text);
  return value && std::abs(*value) < kExact ? value : std::nullopt;
}

/// Whether two texts are one label: also as the same number, 9 and 9.0, but not as codes, 09, and as the same
/// truth, true and TRUE.
bool is_same_label(std::string_view a, std::string_view b) {
  if (a == b || (boolean_in(a) && boolean_in(a) == boolean_in(b))) return true;
  if (is_code(a) || is_code(b)) return false;
  const std::optional<double> number = exact_double_in(a);
  return number && number == exact_double_in(b);
}

/// Ascending; compares as integers, numbers or truths if all labels are such.
struct LabelOrder {
  LabelClasses::Order order;
  bool truths = false;
  bool operator()(const std::string& a, const std::string& b) const {
    if (order == LabelClasses::Order::integers) return *whole_in(a) < *whole_in(b);
    if (truths) return *boolean_in(a) < *boolean_in(b);
    return order == LabelClasses::Order::numbers ? *double_in(a) < *double_in(b) : a < b;
  }
};

template <class Parse>
bool all_of(const std::vector<const std::string*>& texts, Parse parse) {
  return std::all_of(texts.begin(), texts.end(), [&](const auto* text) { return parse(*text).has_value(); });
}

}  // namespace

LabelClasses label_classes(const std::vector<const std::string*>& texts) {
  using enum LabelClasses::Order;
  LabelClasses result;
  result.order = all_of(texts, whole_in) ? integers : all_of(texts, exact_double_in) ? numbers : text;
  if (result.order != text)
    result.codes = std::ranges::count_if(texts, [](const std::string* one) { return is_code(*one); });
  if (result.codes > 0) result.order = text;
  std::map<std::string, int32_t, LabelOrder> classes(
      LabelOrder{result.order, all_of(texts, boolean_in)});  // "1" and "1.0" are equal numbers
  for (const std::string* one : texts)
    if (const auto [known, added] = classes.emplace(*one, 0); !added && result.respelled++ == 0)
      result.spelling = fmt::format("\"{}\" of \"{}\"", excerpt(*one), excerpt(known->first));
  result.named = result.order == text;
  for (int32_t next = 0; auto& [name, number] : classes) {
    number = next++;
    result.named = result.named || double_in(name) != static_cast<double>(number);
    result.fractions =
        result.fractions || (result.order == numbers && *double_in(name) != std::floor(*double_in(name)));
    result.names.push_back(name);
  }
  for (const std::string* one : texts) result.class_of.push_back(classes.find(*one)->second);
  return result;
}

std::string LabelClasses::order_text() const {
  if (codes > 0)
    return fmt::format("text, alphabetical, as {} begin{} with a zero, as codes do", codes,
                       codes == 1 ? "s" : "");
  return order == Order::text ? "text, alphabetical" : "numbers, in ascending order";
}

std::string LabelClasses::hint(std::string_view option) const {
  constexpr size_t kMany = 20;  // ages, years and counts have more values; 0 … C - 1 are classes
  std::string text;
  if (!option.empty() && fractions)
    text = fmt::format(", some with fractions ({} for targets)", option);
  else if (!option.empty() && order != Order::text && named && names.size() > kMany)
    text = fmt::format(", {} different ones ({} for targets)", names.size(), option);
  if (respelled > 0)
    text += fmt::format("; {} other spelling{} of a {}, as {}: the same class", respelled,
                        respelled == 1 ? "" : "s", order == Order::text ? "truth" : "number", spelling);
  return text;
}

LabelTexts::LabelTexts(const std::optional<std::vector<std::string>>& missing,
                       bool (*is_none)(std::string_view))
    : missing_(missing.value_or(std::vector<std::string>())), is_none_(is_none) {
  if (missing && (missing_.empty() || std::ranges::find(missing_, "") != missing_.end())) is_none_ = nullptr;
}

bool LabelTexts::is_listed(std::string_view field) const {
  return std::ranges::any_of(missing_, [&](const std::string& text) { return is_same_label(text, field); });
}

bool LabelTexts::is_none(std::string_view field) const {
  return field.empty() || is_listed(field) || (is_none_ != nullptr && is_none_(field));
}

std::string LabelTexts::hint_of_signs() const {
  const auto is_bit = [](const std::string* text) {
    return double_in(*text) == 0.0 || double_in(*text) == 1.0;
  };
  const auto is_sign = [&](const auto& entry) {
    return double_in(entry.first) == -1.0 && !is_listed(entry.first);
  };
  if (!std::ranges::any_of(none_, is_sign) || !std::ranges::all_of(texts_, is_bit)) return "";
  return " (--missing-labels \"\": -1 is a class)";
}

int32_t LabelTexts::add(std::string_view field, int64_t line) {
  auto entry = found_.find(field);
  if (entry == found_.end()) {
    if (is_none(field)) {
      if (none_.empty()) none_line_ = line;
      const auto spelled = none_.find(field);
      ++(spelled == none_.end() ? none_.emplace(field, 0).first : spelled)->second;
      return -1;
    }
    entry = found_.emplace(field, static_cast<int32_t>(found_.size())).first;
    texts_.push_back(&entry->first);
  }
  return entry->second;
}

std::string LabelTexts::note() const {
  constexpr int kShown = 5;
  int64_t lines = 0;
  int shown = 0;
  std::string spelled;
  for (const auto& [text, count] : none_) {
    lines += count;
    if (++shown <= kShown)
      spelled += fmt::format("{} {} of \"{}\"", spelled.empty() ? "" : ",", count, excerpt(text));
  }
  const std::string absent = note_of_absent();
  if (lines == 0) return absent;
  return fmt::format("; {} line{} taken as unlabelled, in {}, the first in line {}:{}{}{}", lines,
                     lines == 1 ? "" : "s", column_, none_line_, spelled, shown > kShown ? ", …" : "",
                     hint_of_signs()) +
         absent;
}

std::string LabelTexts::note_of_absent() const {
  std::string note;
  for (const std::string& text : missing_) {
    const auto is_text = [&](const auto& entry) { return is_same_label(text, entry.first); };
    if (text.empty() || std::ranges::any_of(none_, is_text)) continue;
    note += fmt::format("; no line has \"{}\" of the missing labels", excerpt(text));
    for (const std::string* found : texts_)
      if (lower(*found) == lower(text)) note += fmt::format(", but \"{}\"", excerpt(*found));
  }
  return note;
}

bool is_missing_label(std::string_view text) {
  return text.empty() || is_missing(text) || double_in(text) == -1.0;
}

}  // namespace adj
