#pragma once

#include <adjoint/core/choice.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// Type of a column of a table, and what its fields become:
///
/// - number: itself.
/// - boolean: true or false in any case, or 1 or 0; 1 or 0.
/// - category: one column of 0 and 1 for each text.
/// - ordinal: the number of the text in ascending order, from 0.
/// - hash: 1 in the column that the text's hash says, of a fixed number of columns (Weinberger et al.
/// 2009); 7.0
///   is 7.
/// - text: counts of its words and pairs of words, lower case, in columns by hash; divided by their norm.
/// - date: days since 1970-01-01 UTC, of ISO 8601 times of day since the first one's, with fractions.
/// - vector: numbers, as many in every field.
/// - set: one column of 0 and 1 for each item that is in a field, "3,17,240" or "red|blue"; or of a fixed
/// number of
///   columns by the items' hashes.
enum class ColumnType : uint8_t { number, boolean, category, ordinal, hash, text, date, vector, set };
/// Names of the values, in their order, for options and files.
constexpr auto names_of(ColumnType) {
  return std::array{"number", "boolean", "category", "ordinal", "hash", "text", "date", "vector", "set"};
}

/// How a column of a table becomes columns of features, fitted to one table and used for all later ones.
struct ColumnEncoder {
  std::string column;                    ///< its name, unique in the table
  ColumnType type = ColumnType::number;  ///< says what its fields become
  std::vector<std::string> categories =
      {};                      ///< of category, ordinal and set: distinct, in the order of their numbers
  int64_t columns = 1;         ///< of hash, text, vector, and a set without categories, which is hashed
  std::string separator = {};  ///< of set: what is between two items; " ": blanks
  int64_t origin = 0;          ///< of date: the day that is 0, in days since 1970-01-01
  /// Of date: whether they have time zones; those without one are of UTC. Absent: unknown.
  std::optional<bool> zones = {};
  /// Of hash and a set without categories: 7.0 has the hash of 7. Files of earlier versions hash it as it is.
  bool whole_numbers = false;
  /// Replacement of a missing value, one number a feature; empty: an error. Without it, missing texts of
  /// category, hash, text and set are 0 in all features, and so are categories that are not known.
  std::vector<float> filling = {};

  /// Number of features.
  int64_t width() const;
  /// Whether a missing value is 0 in all features.
  bool has_zeros() const;
  bool operator==(const ColumnEncoder&) const = default;
};

/// Encoders of all columns of a table that are features, in the order of the features.
struct FeatureEncoder {
  std::vector<ColumnEncoder> columns;

  bool empty() const { return columns.empty(); }  ///< as for features of unknown origin
  int64_t width() const;                          ///< number of features
  /// "age"; "color=red" of a category or a set; "name[0]" of hash, text, vector and a hashed set.
  std::vector<std::string> feature_names() const;
  bool operator==(const FeatureEncoder&) const = default;

  /// Every column a number, without filling.
  static FeatureEncoder numbers(const std::vector<std::string>& names);
  /// {"columns": [{"name": "age", "type": "number", "filling": [41.5]}, {"name": "color", "type": "category",
  /// "categories": ["blue", "red"]}, {"name": "v", "type": "vector", "columns": 3}]}
  std::string json() const;
  /// Throws DataError beginning with `place` for anything else, and for more than `most` features.
  static FeatureEncoder parse(std::string_view json, const std::string& place, int64_t most);
};

/// "2024-03-05", of days since 1970-01-01.
std::string date_text(int64_t days);

/// The encoder of a file of the schema (data/README.md); numbers() of its columns' names if it has none.
/// Throws DataError if it has neither.
FeatureEncoder load_feature_encoder(const std::string& path);

/// Where `found` fills gaps with other numbers than `expected`: "age: 44.89, not 45.03"; or empty.
std::string different_fillings(const FeatureEncoder& found, const FeatureEncoder& expected);
/// Where dates of `found` have time zones and those `expected` have none, or the other way round: "at has no
/// time zones, taken as UTC, there it has"; or empty.
std::string different_zones(const FeatureEncoder& found, const FeatureEncoder& expected);
/// "no time zones, taken as UTC, there it has" of dates without them.
std::string_view zones_text(bool zones);
/// Where a column of `found` becomes features of another meaning than in `expected`, though of the same name:
/// "column born is a number here, a date in the training, and so 2 more"; or empty.
std::string different_types(const FeatureEncoder& found, const FeatureEncoder& expected);

}  // namespace adj
