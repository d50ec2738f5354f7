#pragma once

#include <adjoint/data/feature_encoder.h>
#include <adjoint/data/import/fields.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace adj {

/// true or false, in any case.
std::optional<float> boolean_in(std::string_view text);
/// The numbers of a field such as "0.1, 0.2" or "[1 2 3]", two at least; empty if it is something else.
std::vector<float> vector_in(std::string_view text, Decimal decimal = Decimal::point);
/// Days since 1970-01-01 UTC of an ISO 8601 date or time: "2024-03-01", "2024-03-01 12:30", "…T12:30:05.5Z",
/// "…+02:00"; also with slashes.
std::optional<double> days_in(std::string_view text);
/// Whether the text is a date of another order: "3/1/2024", "01.03.24".
bool is_ambiguous_date(std::string_view text);

/// What a field is to an encoder: missing, not among its categories, or of another type.
enum class FieldState : uint8_t { encoded, missing, unknown, wrong };
/// Turns fields of a column into its features; thread-safe.
class FieldEncoder {
 public:
  /// `encoder` must outlive this.
  explicit FieldEncoder(const ColumnEncoder& encoder, Decimal decimal = Decimal::point);
  const ColumnEncoder& encoder() const { return encoder_; }
  /// Writes encoder().width() numbers if the field is encoded; zeros for a missing or unknown one if the
  /// encoder has_zeros(), else nothing.
  FieldState encode(std::string_view field, float* features) const;

 private:
  FieldState encode_category(std::string_view field, float* features) const;

  const ColumnEncoder& encoder_;
  Decimal decimal_;
  std::unordered_map<std::string_view, int64_t> numbers_;  // of categories
};

}  // namespace adj
