#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/text_decoder.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/text_source.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <future>
#include <tuple>

namespace adj {

namespace {

constexpr size_t kTextBlock = size_t{1} << 20;  // of text
constexpr size_t kBatch = 16;                   // blocks parsed together
constexpr size_t kInput = size_t{1} << 18;      // read beyond a block that has no line end
constexpr int64_t kKiB = 1024;

}  // namespace

bool LineCursor::next() {
  if (rest_.empty()) return false;
  const size_t end = rest_.find('\n');
  line_ = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  ++number_;
  return true;
}

TextSource::TextSource(std::string path, Progress* reading, size_t longest_line)
    : TextSource(std::move(path), TextInput{}, reading, longest_line) {}

TextSource::TextSource(std::string path, const TextInput& input, Progress* reading, size_t longest_line)
    : path_(std::move(path)),
      how_(input),
      reading_(reading),
      longest_line_(longest_line),
      input_(std::make_unique<TextDecoder>(path_, how_.copies ? how_.copies->readable(path_) : path_,
                                           how_.is_table(path_) ? "" : how_.encoding)) {}

int64_t TextSource::bytes() const { return input_->bytes(); }

std::string TextSource::found() const { return input_->found(); }

TextSource::~TextSource() = default;

void TextSource::fail_with(int64_t line, const std::string& message) const {
  const bool table = how_.is_table(path_);
  const int64_t row = table && line > 0 ? how_.copies->row_in(path_, line) : 0;
  if (row > 0) data_fail("{}, row {}: {}", excerpt(path_), row, message);
  if (line <= 0 || table) data_fail("{}: {}", excerpt(path_), message);
  data_fail("{}:{}: {}", excerpt(path_), line, message);
}

void TextSource::fail_utf8(int64_t line, std::string_view name) const {
  const size_t position = utf8_length(name);
  fail(line,
       "\"{}\": byte {} is {:#04x}, expected UTF-8 (a list of edges is read with --encoding latin1, or any "
       "name that iconv knows)",
       excerpt(name), position + 1, static_cast<unsigned char>(name[position]));
}

/// Reads until the block contains a line end, and kTextBlock bytes if available.
bool TextSource::read_block(TextBlock& block) {
  std::string& text = block.text;
  text.swap(carried_);
  carried_.clear();
  block.first_line = lines_read_ + 1;
  std::string why;
  size_t searched = 0;  // no line end before this position
  size_t end = std::string::npos;
  bool over = false;
  while (end == std::string::npos && !over) {
    const size_t before = text.size(), want = std::max(kTextBlock, before + kInput);
    text.resize(want);
    size_t filled = before;
    while (filled < want && why.empty() && !over) {
      const size_t got = input_->read(text.data() + filled, want - filled, why);
      over = got == 0;
      filled += got;
    }
    text.resize(filled);
    over = over || !why.empty();
    const size_t last = records_end_ ? records_end_(text, block.first_line) : text.rfind('\n');
    if (last != std::string::npos && (records_end_ || last >= searched)) end = last + 1;
    searched = text.size();
    if (end == std::string::npos && !over && text.size() > longest_line_) break;
  }
  if (!over) {
    if (end == std::string::npos) end = 0;
    carried_.assign(text, end, std::string::npos);
    text.resize(end);
  }
  count_lines(text);
  if (carried_.size() > longest_line_ && carried_.find('\n') <= longest_line_)
    fail(lines_read_ + 1, "a quote that is not closed within {} bytes, expected a second one", longest_line_);
  if (carried_.size() > longest_line_) fail_overlong(lines_read_ + 1);
  if (!why.empty()) fail(lines_read_ + (text.empty() || text.back() == '\n'), "{}", why);
  return !text.empty();
}

/// Adds the lines of a block to lines_read_; only blocks longer than the limit can contain too long a line.
void TextSource::count_lines(std::string_view text) {
  if (text.size() <= longest_line_) {
    lines_read_ += std::count(text.begin(), text.end(), '\n') + (!text.empty() && text.back() != '\n');
    return;
  }
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    ++lines_read_;
    if (end - begin > longest_line_) fail_overlong(lines_read_);
    begin = end + 1;
  }
}

void TextSource::fail_overlong(int64_t line) const {
  fail(line, "expected lines of at most {} bytes, found a longer one", longest_line_);
}

void TextSource::advance(int64_t bytes) {
  unreported_ += bytes;
  if (reading_ != nullptr && unreported_ >= kKiB) reading_->advance(unreported_ / kKiB);
  unreported_ %= kKiB;
}

bool TextSource::next(TextBlock& block) {
  const int64_t before = input_->position();
  const bool more = read_block(block);
  advance(input_->position() - before);
  return more;
}

bool TextSource::next(std::string_view& line) {
  while (cursor_ == nullptr || !cursor_->next()) {
    if (!next(block_)) return false;
    cursor_ = std::make_unique<LineCursor>(block_);
  }
  line = cursor_->line();
  line_number_ = cursor_->number();
  return true;
}

void TextSource::run_blocks(const std::function<void(std::span<const TextBlock>)>& use) {
  const auto next_batch = [this] {
    std::vector<TextBlock> blocks;
    const int64_t before = input_->position();
    for (TextBlock block; blocks.size() < kBatch && read_block(block); block = {})
      blocks.push_back(std::move(block));
    return std::pair(std::move(blocks), input_->position() - before);
  };
  // One thread decompresses the next batch while the others parse.
  const bool ahead = num_threads() > 1;
  for (auto [blocks, bytes] = next_batch(); !blocks.empty();) {
    auto following = std::async(ahead ? std::launch::async : std::launch::deferred, next_batch);
    use(blocks);  // if this throws, the future's destructor waits
    advance(bytes);
    std::tie(blocks, bytes) = following.get();
  }
}

int64_t lines_in(const std::string& path, const TextInput& input) {
  TextSource source(path, input);
  int64_t lines = 0;
  for (TextBlock block; source.next(block);)
    for (LineCursor cursor(block); cursor.next();) lines += !trimmed(cursor.line()).empty();
  return lines;
}

ReadProgress::ReadProgress(std::span<const std::string> paths, const TextInput& input)
    : Progress(
          [&] {
            int64_t bytes = 0;
            for (const std::string& path : paths) {
              std::error_code error;
              const auto size =
                  std::filesystem::file_size(input.copies ? input.copies->readable(path) : path, error);
              if (!error) bytes += static_cast<int64_t>(size);
            }
            return std::max<int64_t>(bytes / kKiB, 1);
          }(),
          0, "KiB read") {}

}  // namespace adj
