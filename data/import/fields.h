#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Fields of a line, and number parsing.

namespace adj {

/// The text between two fields: any of 1 to 15 bytes, as `comma`, `semicolon` and `tab`, or `blanks`: runs of
/// blanks and tabs, ignoring those at a line's ends.
class Separator {
 public:
  static constexpr size_t kLongest = 15;  ///< in bytes
  static const Separator comma, semicolon, tab, blanks;

  /// `text` has at most kLongest bytes; none mean blanks.
  constexpr explicit Separator(std::string_view text) : size_(static_cast<uint8_t>(text.size())) {
    std::copy(text.begin(), text.end(), text_.begin());
  }
  /// As users write one: " " means blanks, "\\t" a tab. Nothing for an empty text, more than kLongest bytes,
  /// quotes and line ends.
  static std::optional<Separator> parse(std::string_view choice);
  std::string_view text() const { return {text_.data(), size_}; }
  /// The position of the first one in `text`; its size if there is none. Not for blanks.
  size_t find_in(std::string_view text) const {
    size_t position = 0;
    while (position < text.size() &&
           (text[position] != text_[0] || (size_ > 1 && !text.substr(position).starts_with(this->text()))))
      ++position;
    return position;
  }
  bool operator==(const Separator&) const = default;

 private:
  std::array<char, kLongest> text_{};
  uint8_t size_;
};
inline constexpr Separator Separator::comma{","}, Separator::semicolon{";"}, Separator::tab{"\t"},
    Separator::blanks{""};

/// What precedes the fraction of a number.
enum class Decimal : uint8_t { point, comma };

/// "a comma", for messages.
std::string name_of(Separator separator);
/// Separator of a line: the first of tab, semicolon and, unless numbers have them, comma that occurs in it,
/// else blanks.
Separator separator_of(std::string_view line, Decimal decimal = Decimal::point);

/// What a first line as Excel reads it says: "sep=;". Empty for other lines.
std::optional<Separator> stated_separator(std::string_view first_line);

/// Without blanks, tabs and carriage returns at its ends.
inline std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// The text with ASCII letters in lower case.
std::string lower(std::string_view text);

/// Iterates over the fields of a line, trimmed, without quote handling (see records.h). A line has one field
/// more than separators; with blanks, an empty line has none.
///
///   for (FieldCursor at(line, Separator::comma); at.next();) use(at.field());
class FieldCursor {
 public:
  FieldCursor(std::string_view line, Separator separator)
      : rest_(separator == Separator::blanks ? trimmed(line) : line),
        separator_(separator),
        more_(separator != Separator::blanks || !rest_.empty()) {}

  bool next() {
    if (!more_) return false;
    if (separator_ == Separator::blanks) {
      size_t end = 0;
      while (end < rest_.size() && rest_[end] != ' ' && rest_[end] != '\t') ++end;
      field_ = rest_.substr(0, end);
      while (end < rest_.size() && (rest_[end] == ' ' || rest_[end] == '\t')) ++end;
      rest_.remove_prefix(end);
      more_ = !rest_.empty();
      return true;
    }
    const size_t end = separator_.find_in(rest_);
    field_ = trimmed(rest_.substr(0, end));
    more_ = end < rest_.size();
    rest_.remove_prefix(more_ ? end + separator_.text().size() : end);
    return true;
  }
  std::string_view field() const { return field_; }
  /// True if another field follows.
  bool more() const { return more_; }
  /// The text after this field and its separator.
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_, field_;
  Separator separator_;
  bool more_;
};

/// Parses an entire text, trimmed, as a number. Empty if it is not one or does not fit: an integer has a sign
/// and digits only; a floating number must be finite, and underflow becomes 0. With a decimal comma, points
/// are between thousands only, as in 1.250,5.
std::optional<int64_t> integer_in(std::string_view text);
std::optional<int32_t> int32_in(std::string_view text);                                  ///< within 32 bits
std::optional<float> float_in(std::string_view text, Decimal decimal = Decimal::point);  ///< within float32
std::optional<double> double_in(std::string_view text,
                                Decimal decimal = Decimal::point);  ///< within float64
/// True for a missing value: empty, two quotes (as pandas writes an empty row), "nan", "na", "n/a", "null",
/// "none" or "?", in any case, or as databases, pandas and Excel write it: `\\N`, "NaT", "<NA>", "#N/A".
bool is_missing(std::string_view text);
/// The same for a text without blanks around it, soon for longer ones.
inline bool is_missing_id(std::string_view text) { return text.size() <= 4 && is_missing(text); }
/// True for digits that begin with a zero, as codes do ("007"): as a number it would be another text.
inline bool is_code(std::string_view text) { return text.size() > 1 && text[0] == '0' && integer_in(text); }
/// True for a number of any size, including those without a type above ("1e400", "nan").
bool is_number(std::string_view text, Decimal decimal = Decimal::point);

}  // namespace adj
