#pragma once

#include <string>
#include <string_view>

namespace adj {

struct TableHead;
class TextSource;

/// True for a number with points between thousands, as 1.250 or 12.345.678,5 with a decimal comma.
bool has_thousands(std::string_view number);

/// Whether points in the numbers of a column may stand between thousands: they do in all of them, and the
/// whole numbers without one are below 1000, some of them above 99.
class Thousands {
 public:
  void add(std::string_view number);   ///< a field that is a number
  void merge(const Thousands& later);  ///< adds the counts of later rows
  /// Throws for such a column of a table with semicolons, for which no decimal mark was chosen.
  void expect_decimal(const TextSource& source, const TableHead& head, std::string_view column) const;
  /// "; 3 weights have points between thousands" with a decimal comma; or empty.
  std::string note(const TableHead& head, std::string_view noun) const;

 private:
  int64_t count_ = 0;
  std::string first_;
  bool hundreds_ = false, others_ = false;
};

}  // namespace adj
