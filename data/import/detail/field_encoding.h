#pragma once

#include <adjoint/data/feature_encoder.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/rounding.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace adj {

/// true or false, in any case.
std::optional<float> boolean_in(std::string_view text);
/// The numbers of a field such as "0.1, 0.2" or "[1 2 3]", two at least; empty if it is something else.
std::vector<float> vector_in(std::string_view text, Decimal decimal = Decimal::point);
/// Adds the `numbers` of a field, one or those of a vector, to `rounding`, by their place in it.
void add_rounding(std::string_view field, std::span<const float> numbers, Decimal decimal,
                  std::vector<Rounding>& rounding);
/// Separators of sets, the first that is in any field of a column being its own.
inline constexpr Separator kSetSeparators[] = {Separator("|"), Separator::semicolon, Separator::comma,
                                               Separator::tab, Separator::blanks};
/// That of an encoder of sets.
inline Separator set_separator(const ColumnEncoder& encoder) {
  return Separator(encoder.separator == " " ? "" : encoder.separator);
}
/// Whether a bracket that begins the text is closed by its end: "['a', 'b']", but not "(a)|(b)".
bool is_bracketed(std::string_view text);
/// The items of a set without what is around them all: brackets, as in "['a', 'b']", or Python's frozenset().
std::string_view list_in(std::string_view text);
/// Where the first item of a list ends: before a separator outside of quotes, or at the end. A quote begins
/// an item, and is closed before a separator of any kind, or a blank.
size_t item_end(std::string_view list, Separator separator);
/// Calls use(item) for the items of a set, each in quotes, in brackets or without: "3,17", "['a', 'b, c']",
/// "[a]|[b]". Empty ones are passed over.
template <class Use>
void for_items(std::string_view text, Separator separator, Use use);
/// Whether some letter and its accent are two characters (U+0300 to U+036F), as in NFD.
bool has_combining_mark(std::string_view text);
/// What is wrong with a set that is a record or a list of them, as Python and JSON write them, "[{'id': 5,
/// 'name': 'Crime'}]", or a list of R, "c(1, 3)"; or nothing.
std::string_view problem_of_items(std::string_view text);
/// Days since 1970-01-01 UTC of an ISO 8601 date or time: "2024-03-01", "2024-03-01 12:30", "…T12:30:05.5Z",
/// "…+02:00"; also with slashes.
std::optional<double> days_in(std::string_view text);
/// Whether the text is a date of another order: "3/1/2024", "01.03.24".
bool is_ambiguous_date(std::string_view text);
/// Whether it is a date but for a word: "2024-03-01 12:30 Europe/Berlin", "2024-03-01 12:30 PM".
bool has_word_behind_time(std::string_view text);

/// What a field is to an encoder: missing, not among its categories, or of another type.
enum class FieldState : uint8_t { encoded, missing, unknown, wrong };
/// Turns fields of a column into its features; thread-safe.
class FieldEncoder {
 public:
  /// `encoder` must outlive this.
  explicit FieldEncoder(const ColumnEncoder& encoder, Decimal decimal = Decimal::point);
  const ColumnEncoder& encoder() const { return encoder_; }
  Decimal decimal() const { return decimal_; }
  /// Writes encoder().width() numbers if the field is encoded; zeros for a missing or unknown one if the
  /// encoder has_zeros(), else nothing.
  /// The known items of a set are encoded, too, if others are unknown.
  FieldState encode(std::string_view field, float* features) const;
  /// What is unknown in a field: a category, or the first such item of a set.
  std::string_view unknown_in(std::string_view field) const;

 private:
  FieldState encode_category(std::string_view field, float* features) const;
  FieldState encode_set(std::string_view field, float* features) const;
  std::string_view hashed_text(std::string_view text) const;

  const ColumnEncoder& encoder_;
  Decimal decimal_;
  Separator separator_;                                    // of sets
  std::unordered_map<std::string_view, int64_t> numbers_;  // of categories
};

/// Without such ends around it.
inline std::string_view without_ends(std::string_view text, std::initializer_list<std::string_view> all) {
  text = trimmed(text);
  for (const std::string_view ends : all)
    if (text.size() > 1 && text.front() == ends[0] && text.back() == ends[1])
      return trimmed(text.substr(1, text.size() - 2));
  return text;
}

template <class Use>
void for_items(std::string_view text, Separator separator, Use use) {
  const size_t width = std::max<size_t>(separator.text().size(), 1);
  for (text = list_in(text); !text.empty();) {
    const size_t end = item_end(text, separator);
    std::string_view item = trimmed(text.substr(0, end));
    item = is_bracketed(item) ? trimmed(item.substr(1, item.size() - 2)) : without_ends(item, {"\"\"", "''"});
    if (!item.empty()) use(item);
    text = trimmed(text.substr(std::min(end + width, text.size())));
  }
}

}  // namespace adj
