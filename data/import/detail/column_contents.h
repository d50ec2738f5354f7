#pragma once

#include <adjoint/data/feature_encoder.h>
#include <adjoint/data/import/detail/date_range.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/rounding.h>
#include <adjoint/data/import/thousands.h>

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// The fields of a column that are numbers, or vectors: how they are written, and what is lost of them.
struct NumberFields {
  int64_t codes = 0;                                          ///< with a zero in front
  std::vector<Rounding> rounding = std::vector<Rounding>(1);  ///< by place in a field
  Thousands thousands;

  void add(std::string_view field, float number) {
    codes += field[0] == '0' && is_code(field);
    rounding[0].add(field, number);
    thousands.add(field);
  }
  void merge(const NumberFields& later);
  /// What they lose: zeros in front, as of codes, with the `remedy`, or digits; or nothing.
  std::string losses(std::string_view remedy) const;
};

/// What is in a column besides numbers: determines its type.
class ColumnContents {
 public:
  static constexpr size_t kMostCategories = 64, kMostItems = 4096, kMostOrdinals = 100'000;

  /// `wanted`, `decimal`: type and decimal mark that the user chose.
  explicit ColumnContents(std::optional<ColumnType> wanted = {}, std::optional<Decimal> decimal = {})
      : wanted_(wanted), decimal_(decimal) {}

  void add_text(std::string_view field, int64_t line);
  void add_number(std::string_view field, float number) { numbers_.add(field, number); }
  void add_gap(int64_t line) {
    if (gaps_++ == 0) gap_line_ = line;
  }
  /// `later`: of the rows after these.
  void merge(const ColumnContents& later);

  std::optional<ColumnType> wanted() const { return wanted_; }
  int64_t gaps() const { return gaps_; }
  const NumberFields& numbers() const { return numbers_; }
  int64_t gap_line() const { return gap_line_; }
  const DateRange& dates() const { return range_; }
  /// Line and text of the first field that is no number, if there is one.
  /// In a column of dates, that is none, or is one of another kind.
  int64_t text_line() const {
    return spoils_dates() ? no_date_line_ : mixes_zones() ? range_.mixed_line() : line_;
  }
  const std::string& text() const {
    return spoils_dates() ? no_date_ : mixes_zones() ? range_.mixed_text() : first_;
  }

  /// Sets type, categories and columns of `encoder`, whose name and, for hash, text and set, columns are set;
  ///; for a column of `rows` rows. Returns what is wrong: 'expected a finite
  /// number …', or nothing.
  std::string choose(int64_t rows, ColumnEncoder& encoder) const;

 private:
  size_t most() const {
    return wanted_ == ColumnType::ordinal ? kMostOrdinals
           : wanted_ == ColumnType::set   ? kMostItems
                                          : kMostCategories;
  }
  /// Whether most texts are dates, or shall be, but some are not.
  bool spoils_dates() const {
    return dates_ < texts_ && (wanted_ ? wanted_ == ColumnType::date : 2 * dates_ > texts_);
  }
  /// Whether all are dates that do not compare.
  bool mixes_zones() const {
    return range_.mixes_zones() && dates_ == texts_ && wanted_.value_or(ColumnType::date) == ColumnType::date;
  }
  void add_items(std::string_view field);
  std::string choose_set(ColumnEncoder& encoder) const;
  void add_kind(std::string_view field) {
    if (kinds_.size() <= most() && !kinds_.contains(field)) kinds_.emplace(field);
  }
  std::optional<ColumnType> found() const;
  std::string problem_of_categories() const;
  void set_categories(ColumnEncoder& encoder) const;

  std::optional<ColumnType> wanted_;
  std::optional<Decimal> decimal_;
  int64_t texts_ = 0, booleans_ = 0, vectors_ = 0, dates_ = 0, ambiguous_dates_ = 0, gaps_ = 0;
  std::string_view no_items_;  // problem_of_items() of a set, the first in line_
  NumberFields numbers_;
  int64_t commas_ = 0;               // texts that may be numbers with a decimal comma
  int64_t line_ = 0, gap_line_ = 0;  // of the first of them
  std::string first_;
  DateRange range_;
  int64_t no_date_line_ = 0;  // of the first text that is no date
  std::string no_date_;
  int64_t width_ = 0;                                      // numbers in each vector; -1: different
  std::set<std::string, std::less<>> kinds_;               // at most most() + 1
  std::vector<std::set<std::string, std::less<>>> items_;  // of a set, by each of kSetSeparators
  std::array<bool, 5> separates_{};                        // some field has several items
};

}  // namespace adj
