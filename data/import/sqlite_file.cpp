#include <adjoint/core/error.h>
#include <adjoint/core/file.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/sqlite_file.h>
#include <adjoint/data/import/fields.h>

#include <array>
#include <filesystem>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

namespace adj::detail {

namespace {

constexpr std::string_view kBegin("SQLite format 3\0", 16);
constexpr size_t kPiece = size_t{1} << 18;  // of text, written at once

/// Whether a program that is writing, or was, left changes beside the file. Without any, a file with a
/// write-ahead log (file format, 1.3.3: bytes 18 and 19) is read as it is, since SQLite would create one to
/// read it.
bool is_at_rest(const std::string& file) {
  const std::string bytes = first_bytes(file, 20);
  const bool logs = bytes.size() == 20 && bytes[18] == 2;
  struct stat status {};
  return logs && (::stat((file + "-wal").c_str(), &status) != 0 || status.st_size == 0);
}

/// "file:/tmp/a%3fb.db?immutable=1".
std::string uri_of(const std::string& file, bool frozen) {
  std::string uri = "file:";
  for (const char c : file) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/._-").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return uri + (frozen ? "?immutable=1" : "");
}

std::string csv_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string_view("\"\"") : std::string_view(&c, 1);
  return result + '"';
}

bool is_query(const std::string& rows) {
  const std::string begin = lower(trimmed(rows).substr(0, 7));
  return begin.starts_with("select") || begin.starts_with("with ") || begin.starts_with("with\n");
}

std::array<long, 3> state_of(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return {-1, 0, 0};
  return {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

/// Appends a field of the current row, as write_csv() says. Returns what is wrong with it, or nothing.
std::string_view append_field(sqlite3_stmt* row, int column, std::string& text) {
  const int type = sqlite3_column_type(row, column);
  if (type == SQLITE_BLOB)
    return "a blob, expected numbers or text (a query chooses the columns, as 'FILE:SELECT id, name FROM …')";
  if (type == SQLITE_NULL && sqlite3_column_count(row) == 1) text += "\"\"";  // not an empty line
  if (type == SQLITE_INTEGER) text += std::to_string(sqlite3_column_int64(row, column));
  if (type == SQLITE_FLOAT) text += fmt::format("{}", sqlite3_column_double(row, column));
  if (type != SQLITE_TEXT) return "";
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
  if (bytes == nullptr) throw std::bad_alloc();
  const std::string_view field(bytes, static_cast<size_t>(sqlite3_column_bytes(row, column)));
  if (!is_utf8(field)) return "a text that is no UTF-8, expected UTF-8";
  if (field.find('\0') != std::string_view::npos) return "a text with a zero byte, expected none";
  text += csv_quoted(field);
  return "";
}

}  // namespace

std::optional<SqlitePath> SqlitePath::parse(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return {};
  for (size_t colon = path.find(':'); colon != std::string::npos; colon = path.find(':', colon + 1)) {
    const std::string file = path.substr(0, colon);
    if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (!begins_as_sqlite(first_bytes(file, kBegin.size())))
      data_fail("{}: there is no such file, and {} is no SQLite file, which has tables", excerpt(path),
                excerpt(file));
    return SqlitePath{file, path.substr(colon + 1)};
  }
  return {};
}

bool begins_as_sqlite(std::string_view bytes) { return bytes.starts_with(kBegin); }

std::string sqlite_remedy(const std::string& file) {
  const std::string tables = SqliteFile(file).tables();
  return fmt::format(
      "an SQLite file, expected one of its tables: {}:TABLE, or a query: '{}:SELECT … FROM …' (tables: {})",
      excerpt(file), excerpt(file), tables.empty() ? "none" : tables);
}

SqliteFile::SqliteFile(const std::string& file) : file_(file) {
  constexpr int kWait = 2000;  // ms, for locks
  std::error_code error;
  const std::string whole = std::filesystem::canonical(file, error).string();
  if (error) data_fail("{}: cannot be opened: {}", excerpt(file), error.message());
  frozen_ = is_at_rest(whole);
  before_ = state_of(whole);
  sqlite3* opened = nullptr;  // also if it fails
  const int code = sqlite3_open_v2(uri_of(whole, frozen_).c_str(), &opened,
                                   SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) fail_with(file_, code);
  sqlite3_busy_timeout(database_.get(), kWait);
  // A file may come from anybody.
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  for (const char* command : {"PRAGMA cell_size_check=ON", "BEGIN", "SELECT count(*) FROM sqlite_schema"})
    if (const int done = sqlite3_exec(database_.get(), command, nullptr, nullptr, nullptr); done != SQLITE_OK)
      fail_with(file_, done);
}

void SqliteFile::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

void SqliteFile::fail_with(const std::string& path, int code) {
  const std::string message = database_ != nullptr ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(code);
  const int kind = code & 0xff;
  if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED)
    data_fail("{}: locked by a program that writes it, expected one that can be read", excerpt(path));
  if (kind == SQLITE_READONLY)
    data_fail(
        "{}: a transaction in it was not finished, expected a finished one (its program, or sqlite3 with any "
        "query, finishes it)",
        excerpt(path));
  if (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB)
    data_fail("{}: a damaged SQLite file: {}", excerpt(path), message);
  data_fail("{}: {}", excerpt(path), message);
}

std::string SqliteFile::tables() {
  sqlite3_stmt* prepared = nullptr;
  constexpr const char* kQuery =
      "SELECT name || CASE type WHEN 'view' THEN ' (view)' ELSE '' END FROM sqlite_schema WHERE type IN "
      "('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
  if (const int code = sqlite3_prepare_v2(database_.get(), kQuery, -1, &prepared, nullptr); code != SQLITE_OK)
    fail_with(file_, code);
  const Statement statement(prepared, sqlite3_finalize);
  std::vector<std::string> names;
  while (sqlite3_step(prepared) == SQLITE_ROW)
    names.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(prepared, 0)));
  return names.empty() ? "" : listed(names, 20);
}

void SqliteFile::write_csv(const std::string& path, const std::string& rows,
                           const std::function<void(std::string_view)>& write) {
  const std::string all = "SELECT * FROM " + csv_quoted(rows);
  sqlite3_stmt* prepared = nullptr;
  const char* rest = nullptr;
  int code = sqlite3_prepare_v2(database_.get(), all.c_str(), -1, &prepared, &rest);
  const bool query = code == SQLITE_ERROR && is_query(rows);
  if (query) code = sqlite3_prepare_v2(database_.get(), rows.c_str(), -1, &prepared, &rest);
  const Statement statement(prepared, sqlite3_finalize);
  if (const std::string message = sqlite3_errmsg(database_.get());
      code == SQLITE_ERROR && message.starts_with("no such table")) {
    const std::string known = tables();
    data_fail("{}: {}, expected {}", excerpt(path), message,
              known.empty() ? "a file with tables" : "one of " + known);
  }
  if (code != SQLITE_OK) fail_with(path, code);
  if (prepared == nullptr || sqlite3_column_count(prepared) == 0 || sqlite3_stmt_readonly(prepared) == 0 ||
      !trimmed(rest).empty())
    data_fail("{}: expected one query, which only reads", excerpt(path));

  const int columns = sqlite3_column_count(prepared);
  std::string text;
  for (int k = 0; k < columns; ++k)
    text += (k == 0 ? "" : ",") + csv_quoted(sqlite3_column_name(prepared, k));
  text += '\n';
  if (!is_utf8(text)) data_fail("{}: a name of a column that is no UTF-8, expected UTF-8", excerpt(path));
  int64_t row = 1;
  for (; (code = sqlite3_step(prepared)) == SQLITE_ROW; ++row) {
    for (int k = 0; k < columns; ++k) {
      if (k > 0) text += ',';
      if (const std::string_view problem = append_field(prepared, k, text); !problem.empty())
        data_fail("{}: row {}: column {} has {}", excerpt(path), row,
                  excerpt(sqlite3_column_name(prepared, k)), problem);
    }
    text += '\n';
    if (text.size() < kPiece) continue;
    write(text);
    text.clear();
  }
  if (code != SQLITE_DONE) fail_with(path, code);
  write(text);
  if (frozen_ && state_of(file_) != before_)
    data_fail("{}: was written while it was read, expected a file that nobody writes", excerpt(path));
}

}  // namespace adj::detail
