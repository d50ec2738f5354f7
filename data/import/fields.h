#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// The fields of a line, and the numbers in them.

namespace adj {

/// What stands between fields. blanks: runs of blanks and tabs, those at a line's ends aside.
enum class Separator : char { comma = ',', semicolon = ';', tab = '\t', blanks = ' ' };

/// "a comma", for messages.
std::string_view name_of(Separator separator);
/// That of a line: the first of tab, semicolon and comma that is in it, else blanks.
Separator separator_of(std::string_view line);

/// Without blanks, tabs and carriage returns at its ends.
inline std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Gives the fields of a line, trimmed, as they stand: quotes mean nothing (records.h knows them). A line
/// has one field more than separators; of blanks, none where there is nothing else.
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
    size_t end = 0;
    while (end < rest_.size() && rest_[end] != static_cast<char>(separator_)) ++end;
    field_ = trimmed(rest_.substr(0, end));
    more_ = end < rest_.size();
    rest_.remove_prefix(more_ ? end + 1 : end);
    return true;
  }
  std::string_view field() const { return field_; }
  /// Is there a field behind this one?
  bool more() const { return more_; }
  /// What stands behind this field and its separator.
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_, field_;
  Separator separator_;
  bool more_;
};

/// A number that is all of a text, blanks at its ends aside. Empty where it is none or does not fit: an
/// integer has a sign and digits only; a floating number is finite, and what is nearer to 0 than the type can
/// tell becomes 0.
std::optional<int64_t> integer_in(std::string_view text);
std::optional<int32_t> int32_in(std::string_view text);
std::optional<float> float_in(std::string_view text);
std::optional<double> double_in(std::string_view text);
/// Does a field say that its value is missing: nothing, two quotes (as pandas writes a row of nothing),
/// "nan", "na", "n/a", "null", "none" or "?", in any case?
bool is_missing(std::string_view text);
/// Is it a number, of whatever size: also those that the above have no type for ("1e400", "nan")?
bool is_number(std::string_view text);

}  // namespace adj
