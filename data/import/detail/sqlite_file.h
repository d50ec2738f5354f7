#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;

namespace adj::detail {

/// Rows of an SQLite file by a path: "shop.db:people" is a table or a view, "shop.db:SELECT a, b FROM c" a
/// query.
struct SqlitePath {
  std::string file, rows;

  /// Absent if there is a file of that name, or no file up to a colon. Throws DataError if that file is no
  /// SQLite file.
  static std::optional<SqlitePath> parse(const std::string& path);
};

/// Whether a file begins as those of SQLite do.
bool begins_as_sqlite(std::string_view bytes);
/// "an SQLite file, expected a table of it: shop.db:people (tables: people, orders)".
std::string sqlite_remedy(const std::string& file);

/// An SQLite file, opened to read, in one transaction: all tables are of the same moment. Nothing is written;
/// without a write-ahead log no file is created next to it. Throws DataError for a file that is locked,
/// damaged or unfinished.
class SqliteFile {
 public:
  explicit SqliteFile(const std::string& file);

  /// Gives `write` the rows as text: a line of the columns' names, then one for each row, separated by
  /// commas. Names and texts are quoted by RFC 4180, NULL is nothing, integers and reals have all digits.
  /// Throws DataError beginning with `path` for a table that does not exist, naming those that do, a query
  /// that does not only read, a blob, and a text that is no UTF-8 or has a zero byte.
  void write_csv(const std::string& path, const std::string& rows,
                 const std::function<void(std::string_view)>& write);
  /// "people, orders (view)", without SQLite's own.
  std::string tables();

 private:
  [[noreturn]] void fail_with(const std::string& path, int code);

  std::string file_;
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
  bool frozen_ = false;           // opened without locks, as nobody writes
  std::array<long, 3> before_{};  // size and time of the file then
};

}  // namespace adj::detail
