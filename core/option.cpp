#include <adjoint/core/choice.h>
#include <adjoint/core/error.h>
#include <adjoint/core/option.h>
#include <adjoint/core/option_check.h>
#include <adjoint/core/text.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace adj {

namespace {

/// Damerau-Levenshtein distance of `a` and `b`: insertions, deletions, replacements, transpositions.
size_t edits(const std::string& a, const std::string& b) {
  std::vector<size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row.back();
}

/// True if `word` consists of the initials of the parts of `text`: "lr" for "learning-rate".
bool has_initials(const std::string& text, const std::string& word) {
  std::string letters;
  for (size_t i = 0; i < text.size(); ++i)
    if (i == 0 || text[i - 1] == '-') letters += text[i];
  return letters.size() > 1 && letters == word;
}

/// True if `part` is one of the dash-separated parts of `text`.
bool has_part(const std::string& text, const std::string& part) {
  return ("-" + text + "-").find("-" + part + "-") != std::string::npos;
}

/// 0: the same word; above kTooFar: not a plausible typo.
constexpr size_t kTooFar = 1000;
size_t unlikeness(const std::string& word, const std::string& choice) {
  if (word == choice) return 0;
  if (has_part(word, choice) || has_part(choice, word)) return 2;
  if (has_initials(word, choice) || has_initials(choice, word)) return 2;
  if (word.size() > 2 && choice.starts_with(word)) return 3;
  const size_t longer = std::max(word.size(), choice.size()), apart = edits(word, choice);
  return apart <= longer / 3 && apart < std::min(word.size(), choice.size()) ? 2 * apart : kTooFar + 1;
}

/// "an integer from 1 to 8"; `any` without a range.
std::string described(const OptionRange& range, const char* any) {
  if (const auto* r = std::get_if<IntegerRange>(&range))
    return r->high == IntegerRange().high && r->low >= 0
               ? fmt::format("an integer of {} or more", r->low)
               : fmt::format("an integer from {} to {}", r->low, r->high);
  const auto* r = std::get_if<NumberRange>(&range);
  if (r == nullptr) return any;
  if (std::isinf(r->high) && r->low == 0.0)
    return r->with_low ? "a number of 0 or more" : "a positive number";
  return fmt::format("a number in {}{}, {}{}", r->with_low ? '[' : '(', r->low, r->high,
                     r->with_high ? ']' : ')');
}

/// Without the plus sign that std::from_chars does not take.
std::string_view without_plus(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return text;
}

}  // namespace

std::string Option::text() const {
  return std::visit(
      [](const auto& variable) {
        using Variable = std::decay_t<decltype(variable)>;
        if constexpr (std::is_same_v<Variable, Choice>)
          return variable.text();
        else if constexpr (std::is_same_v<Variable, std::optional<std::string>*>)
          return variable->value_or("");
        else if constexpr (std::is_same_v<Variable, std::vector<std::string>*>)
          return fmt::format("{}", fmt::join(*variable, ","));
        else
          return fmt::format("{}", *variable);
      },
      value);
}

std::string Option::json() const {
  const bool plain = std::holds_alternative<int64_t*>(value) || std::holds_alternative<double*>(value) ||
                     std::holds_alternative<bool*>(value);
  return plain ? text() : json_text(text());
}

void Option::check() const {
  if (const auto* integer = std::get_if<int64_t*>(&value)) expect_in(range, name, **integer);
  if (const auto* number = std::get_if<double*>(&value)) expect_in(range, name, **number);
}

OptionList& operator+=(OptionList& options, OptionList more) {
  options.insert(options.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return options;
}

std::string nearest(const std::string& word, const std::vector<std::string>& choices) {
  constexpr size_t kLongest = 64;  // of the words that are compared
  if (word.empty() || word.size() > kLongest) return "";
  std::string plain = word;
  for (char& c : plain) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string best;
  size_t least = kTooFar;
  for (const std::string& choice : choices)
    if (const size_t far = unlikeness(plain, choice); far < least) {
      least = far;
      best = choice;
    }
  return best;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& choices) {
  const std::string choice = nearest(word, choices);
  return choice.empty() ? "" : fmt::format("; did you mean '{}'?", choice);
}

int64_t read_integer(const std::string& option, const std::string& text, const OptionRange& range) {
  if (const auto number = number_in<int64_t>(without_plus(text))) return *number;
  const bool digits =
      text.find_first_not_of("0123456789", text.starts_with('-') ? 1 : 0) == std::string::npos;
  if (digits && text.size() > 1)  // does not fit
    usage_fail(
        "--{}: expected {}, got {}", option,
        described(std::get_if<IntegerRange>(&range) ? range : OptionRange(IntegerRange()), "an integer"),
        excerpt(text));
  usage_fail("--{}: expected {}, got '{}'", option, described(range, "an integer"), excerpt(text));
}

double read_number(const std::string& option, const std::string& text, const OptionRange& range) {
  if (const auto number = number_in<double>(without_plus(text)); number && !std::isnan(*number))
    return *number;
  usage_fail("--{}: expected {}, got '{}'", option, described(range, "a number"), excerpt(text));
}

void expect_in(const OptionRange& range, const std::string& option, int64_t value) {
  if (const auto* r = std::get_if<IntegerRange>(&range)) expect_integer(option, value, r->low, r->high);
}

void expect_in(const OptionRange& range, const std::string& option, double value) {
  const auto* r = std::get_if<NumberRange>(&range);
  if (r == nullptr) return;
  const bool high_enough = r->with_low ? value >= r->low : value > r->low,
             low_enough = r->with_high ? value <= r->high : value < r->high;
  if (!high_enough || !low_enough)
    usage_fail("--{}: expected {}, got {}", option, described(range, "a number"), value);
}

void expect_integer(const std::string& option, int64_t value, int64_t low, int64_t high) {
  if (value < low) usage_fail("--{}: expected {} or more, got {}", option, low, value);
  if (value > high) usage_fail("--{}: expected at most {}, got {}", option, high, value);
}

void expect_one_of(const std::string& option, const std::string& value,
                   const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  usage_fail("--{}: expected {}, got '{}'{}", option, fmt::join(choices, " or "), value,
             did_you_mean(value, choices));
}

bool Choice::offers(const std::string& name) const {
  return std::any_of(offered_.begin(), offered_.end(), [&](const auto& one) { return one.second == name; });
}

void Choice::set(const std::string& option, const std::string& text) const {
  std::vector<std::string> names;
  for (const auto& [value, name] : offered_) {
    if (name == text) return set_(variable_, value);
    names.push_back(name);
  }
  expect_one_of(option, text, names);  // throws
}

}  // namespace adj
