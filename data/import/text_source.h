#pragma once

#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/progress.h>
#include <adjoint/core/text.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Text input of the importers: plain or gzip, of any size, in blocks of full lines. All errors are one-line
// DataErrors, "FILE:LINE: what was found, what was expected".

namespace adj {

/// Full lines of a text; only the last of the file may lack its line end.
struct TextBlock {
  std::string text;
  int64_t first_line = 1;  ///< number of its first line, from 1
};

/// Iterates over the lines of a block, without line ends ("\n" or "\r\n"). False if none is left.
///
///   for (LineCursor at(block); at.next();) parse(at.line(), at.number());
class LineCursor {
 public:
  explicit LineCursor(const TextBlock& block) : rest_(block.text), number_(block.first_line - 1) {}
  bool next();
  std::string_view line() const { return line_; }
  int64_t number() const { return number_; }

 private:
  std::string_view rest_, line_;
  int64_t number_;
};

class TextDecoder;
namespace detail {
class Descriptor;
}

/// Text of the pipes and of the tables of SQLite files among paths, as importers read a text several times.
class InputCopies {
 public:
  /// Copies those of `paths` that are pipes, or name a table, a view or a query of an SQLite file
  /// ("shop.db:people", "shop.db:SELECT a, b FROM c"), into files without a name in the folder of temporary
  /// files. Tables of one file are read in one transaction, and become lines separated by commas, of which
  /// the first has the columns' names. Throws DataError if one cannot be read or written, naming the tables
  /// that there are.
  explicit InputCopies(std::span<const std::string> paths);
  explicit InputCopies(std::initializer_list<std::string> paths)
      : InputCopies(std::span(paths.begin(), paths.size())) {}
  /// The path that has the content of `path`: its own, or that of the copy, as long as this exists.
  std::string readable(const std::string& path) const;
  /// Whether the path names a table of an SQLite file.
  bool is_table(const std::string& path) const { return tables_.contains(path); }
  /// The row of a table, from 1, that is in this line of its text; 0: the columns' names.
  int64_t row_in(const std::string& path, int64_t line) const;

 private:
  std::map<std::string, std::shared_ptr<detail::Descriptor>> copies_;
  std::set<std::string> tables_;
};

/// The file of a path that may name a table in it: "shop.db" of "shop.db:people". Throws DataError if it is
/// no SQLite file.
std::string input_file(const std::string& path);
/// Whether there is such a file, or table of an SQLite file that exists.
bool is_input(const std::string& path);

/// How the bytes of text files become text.
struct TextInput {
  /// A name that iconv knows, as latin1; empty: UTF-8. A byte order mark of UTF-8, UTF-16 or UTF-32 decides
  /// before it.
  std::string encoding = {};
  std::shared_ptr<const InputCopies> copies = {};  ///< absent: pipes and tables are refused

  /// Whether the path names a table of an SQLite file, whose text has one form whatever is chosen for files.
  bool is_table(const std::string& path) const { return copies && copies->is_table(path); }
};
/// Whether iconv knows it.
bool is_encoding(const std::string& name);

/// A regular text file, read once from beginning to end, plain or gzip (detected by content, not by name;
/// several gzip members are one text). A byte order mark is skipped; lines end in LF, CR LF, or, if the text
/// begins without any LF, CR. Takes some MB, or a few times the longest line. Throws DataError if the file is
/// unreadable, a folder, device or pipe, compressed by another tool (detected by content), is no text of its
/// encoding, has both CR and LF as ends, zero bytes at its beginning, is a damaged or truncated gzip or one
/// that expands more than text does, or has a line longer than `longest_line` bytes.
class TextSource {
 public:
  static constexpr size_t kLongestLine = size_t{8} << 20;  ///< default, in bytes

  /// `reading` is advanced by the KiB read of the file (see ReadProgress).
  explicit TextSource(std::string path, Progress* reading = nullptr, size_t longest_line = kLongestLine);
  TextSource(std::string path, const TextInput& input, Progress* reading = nullptr,
             size_t longest_line = kLongestLine);
  ~TextSource();
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;

  const std::string& path() const { return path_; }  ///< not that of a copy
  const TextInput& input() const { return how_; }    ///< as constructed
  /// Bytes of the file, as it is.
  int64_t bytes() const;
  /// What was found, once a line was read: "; UTF-16LE by its byte order mark; lines end in CR"; or empty.
  std::string found() const;

  /// The next line, without its end; valid until the next call. False at the end of the file.
  bool next(std::string_view& line);
  /// Number of the last line that next() gave, from 1.
  int64_t line_number() const { return line_number_; }

  /// The next lines, about a MB. False at the end of the file. Not to be mixed with the other next().
  bool next(TextBlock& block);

  /// Makes blocks end at record ends, for records of several lines: `end(text, line)` gives the last line end
  /// in `text`, whose first line has number `line`, that ends a record; npos if there is none. Call before
  /// reading. A record may be at most as long as a line.
  void cut_by(std::function<size_t(std::string_view text, int64_t line)> end) {
    records_end_ = std::move(end);
  }

  /// Parallel processing of blocks: `parse(block)` runs concurrently on any thread, and `take(made)` gets the
  /// results one by one in file order. If several `parse` calls throw, the exception of the first block is
  /// rethrown. Blocks do not depend on the number of threads. Holds about 32 MB of text, plus the results.
  template <class Parse, class Take>
  void for_blocks(Parse parse, Take take) {
    using Made = decltype(parse(std::declval<const TextBlock&>()));
    run_blocks([&](std::span<const TextBlock> blocks) {
      std::vector<Made> results(blocks.size());
      parallel_for(static_cast<int64_t>(blocks.size()), 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k)
          results[static_cast<size_t>(k)] = parse(blocks[static_cast<size_t>(k)]);
      });
      for (Made& one : results) take(std::move(one));
    });
  }

  /// Throws DataError "FILE:LINE: message", or "FILE: message" if `line` is 0; "FILE:TABLE, row 3: message"
  /// for rows of a table.
  template <class... Args>
  [[noreturn]] void fail(int64_t line, fmt::format_string<Args...> format, Args&&... args) const {
    fail_with(line, fmt::format(format, std::forward<Args>(args)...));
  }
  /// Throws unless `name`, of this line, is UTF-8: for what a dataset keeps as text. Other fields and
  /// comments may have any bytes.
  void expect_utf8(int64_t line, std::string_view name) const {
    if (!is_utf8(name)) [[unlikely]]
      fail_utf8(line, name);
  }

 private:
  [[noreturn]] void fail_utf8(int64_t line, std::string_view name) const;

  [[noreturn]] void fail_with(int64_t line, const std::string& message) const;
  void run_blocks(const std::function<void(std::span<const TextBlock>)>& use);
  bool read_block(TextBlock& block);
  void count_lines(std::string_view text);
  [[noreturn]] void fail_overlong(int64_t line) const;
  void advance(int64_t bytes);

  std::string path_;
  TextInput how_;
  Progress* reading_;
  size_t longest_line_;
  std::unique_ptr<TextDecoder> input_;
  std::function<size_t(std::string_view, int64_t)> records_end_;  // empty: every line end
  std::string carried_;                                           // start of a line cut off by the last block
  int64_t lines_read_ = 0;                                        // in all blocks so far
  int64_t line_number_ = 0;
  int64_t unreported_ = 0;  // bytes short of a full KiB
  TextBlock block_;         // the block of next(line)
  std::unique_ptr<LineCursor> cursor_;
};

/// Number of non-blank lines of a text.
int64_t lines_in(const std::string& path, const TextInput& input = {});

/// Progress in KiB over all files that are read. Empty paths and missing files count 0.
class ReadProgress : public Progress {
 public:
  explicit ReadProgress(std::span<const std::string> paths, const TextInput& input = {});
  ReadProgress(std::initializer_list<std::string> paths)
      : ReadProgress(std::span(paths.begin(), paths.size())) {}
};

}  // namespace adj
