#pragma once

#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/progress.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Text that importers read: plain or gzip, of any size, in blocks of whole lines. Every error is a DataError
// of one line, "FILE:LINE: what was found, what was expected".

namespace adj {

/// Whole lines of a text; only the last of the file may lack its end.
struct TextBlock {
  std::string text;
  int64_t first_line = 1;  ///< the number of its first line, counted from 1
};

/// Gives the next line of a block, without its end ("\n" or "\r\n"). False where there is none left.
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

/// A regular file of text, read once from its beginning to its end, plain or gzip (told by what stands in it,
/// not by its name; several members one after another are one text). A byte order mark of UTF-8 is skipped.
/// Holds some MB, or a few times its longest line. Throws DataError where the file cannot be read, is a
/// folder or a device, is packed by another tool than gzip or in UTF-16 (told likewise), ends its lines with
/// CR alone, is a gzip that is damaged, truncated or expands beyond what text does, or has a line
/// longer than `longest_line` bytes.
class TextSource {
 public:
  static constexpr size_t kLongestLine = size_t{8} << 20;

  /// `reading`: advanced by what is read of the file, in KiB (ReadProgress makes one).
  explicit TextSource(std::string path, Progress* reading = nullptr, size_t longest_line = kLongestLine);
  ~TextSource();
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;

  const std::string& path() const { return path_; }

  /// The next line, without its end; it stands until the next call. False at the end of the file.
  bool next(std::string_view& line);
  /// The number of the line that next() gave last, from 1.
  int64_t line_number() const { return line_number_; }

  /// The next lines, about a MB of them. False at the end of the file. Not to be mixed with next().
  bool next(TextBlock& block);

  /// Blocks end where records do, which may go over several lines: `end(text, line)` gives the last line end
  /// in `text`, whose first line has that number, that ends a record; npos where there is none. To be said
  /// before anything is read. A record is no longer than a line may be.
  void cut_by(std::function<size_t(std::string_view text, int64_t line)> end) {
    records_end_ = std::move(end);
  }

  /// Blocks in the order of the file: `parse(block)` makes something of each, several at once on any thread,
  /// and `take(made)` gets what it made, one after another in the file's order. Of several that `parse`
  /// throws, the first block's is thrown. Blocks do not depend on the number of threads. Holds some 32 MB of
  /// text, and what is made of it.
  template <class Parse, class Take>
  void for_blocks(Parse parse, Take take) {
    using Made = decltype(parse(std::declval<const TextBlock&>()));
    run_blocks([&](std::span<const TextBlock> blocks) {
      std::vector<Made> made(blocks.size());
      parallel_for(static_cast<int64_t>(blocks.size()), 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k)
          made[static_cast<size_t>(k)] = parse(blocks[static_cast<size_t>(k)]);
      });
      for (Made& one : made) take(std::move(one));
    });
  }

  /// Throws DataError "FILE:LINE: message", of the file alone where `line` is 0.
  template <class... Args>
  [[noreturn]] void fail(int64_t line, fmt::format_string<Args...> format, Args&&... args) const {
    fail_with(line, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  struct Input;
  struct Batch {
    std::vector<TextBlock> blocks;
    int64_t bytes = 0;  // read of the file for it
  };

  [[noreturn]] void fail_with(int64_t line, const std::string& message) const;
  Batch next_batch();
  void run_blocks(const std::function<void(std::span<const TextBlock>)>& use);
  bool read_block(TextBlock& block);
  void count_lines(std::string_view text);
  void expect_line_feeds(std::string_view text) const;
  [[noreturn]] void fail_overlong(int64_t line) const;
  void advance(int64_t bytes);

  std::string path_;
  Progress* reading_;
  size_t longest_line_;
  std::unique_ptr<Input> input_;
  std::function<size_t(std::string_view, int64_t)> records_end_;  // empty: every line end
  std::string carried_;     // the beginning of a line that the last block cut off
  int64_t lines_read_ = 0;  // in all blocks so far
  int64_t line_number_ = 0;
  int64_t unreported_ = 0;  // bytes that have not made a KiB yet
  TextBlock block_;         // whose lines next() gives
  std::unique_ptr<LineCursor> at_;
};

/// The lines of a text that are not blank.
int64_t lines_in(const std::string& path);

/// Shows how much of some files is read: a Progress in KiB of them all, for the sources that read them. Empty
/// paths and files that are not there count as nothing.
class ReadProgress : public Progress {
 public:
  explicit ReadProgress(std::span<const std::string> paths);
  ReadProgress(std::initializer_list<std::string> paths)
      : ReadProgress(std::span(paths.begin(), paths.size())) {}
};

}  // namespace adj
