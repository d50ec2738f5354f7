#include <adjoint/core/detail/descriptor.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/text_source.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <future>
#include <tuple>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace adj {

namespace {

constexpr size_t kTextBlock = size_t{1} << 20;  // of text
constexpr size_t kBatch = 16;                   // blocks parsed together
constexpr size_t kInput = size_t{1} << 18;      // bytes per file read
constexpr int64_t kKiB = 1024;

/// Maximum expansion of a text gzip, relative to the compressed bytes read so far: deflate shrinks meaningful
/// text to a tenth, and to a fortieth if most lines are similar; close to a thousandth means one endless
/// line. Small texts are harmless.
constexpr uint64_t kHarmless = uint64_t{16} << 20;
constexpr uint64_t kMostExpansion = 100;

/// Unsupported formats by their first bytes, and the tool that converts them.
struct Unread {
  std::string_view bytes, name, remedy;
};
constexpr Unread kUnread[] = {{"BZh", "a bzip2 archive", "unpack it (bunzip2)"},
                              {"\xfd"
                               "7zXZ",
                               "an xz archive", "unpack it (unxz)"},
                              {"\x28\xb5\x2f\xfd", "a zstd archive", "unpack it (unzstd)"},
                              {"PK\x03\x04", "a zip archive", "unpack it (unzip)"},
                              {"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it (7z x)"},
                              {"\xff\xfe", "a text in UTF-16", "make it UTF-8 (iconv -f utf-16 -t utf-8)"},
                              {"\xfe\xff", "a text in UTF-16", "make it UTF-8 (iconv -f utf-16 -t utf-8)"}};

/// Three letters and a digit alone could also begin a text.
bool is_bzip2(std::string_view bytes) {
  const std::string_view behind = bytes.substr(std::min<size_t>(4, bytes.size()), 6);
  return behind == "\x31\x41\x59\x26\x53\x59" || behind == "\x17\x72\x45\x38\x50\x90";
}

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

/// The text's bytes, after gzip decompression.
struct TextSource::Input {
  explicit Input(const std::string& path) : path_(path) {
    const auto refuse = [&](const std::string& why) { data_fail("{}: {}", excerpt(path), why); };
    file_ = detail::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file_.get() < 0) refuse(fmt::format("cannot be opened: {}", std::strerror(errno)));
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) refuse(std::strerror(errno));
    if (S_ISDIR(status.st_mode)) refuse("a folder, expected a file");
    if (!S_ISREG(status.st_mode)) refuse("not a regular file");
    fill();
    const std::string_view first(reinterpret_cast<const char*>(bytes_.data()), available_);
    for (const Unread& unread : kUnread)
      if (first.starts_with(unread.bytes) && (unread.bytes != "BZh" || is_bzip2(first)))
        refuse(fmt::format("{}, expected text, plain or gzip: {}", unread.name, unread.remedy));
    gzip_ = available_ >= 2 && bytes_[0] == 0x1f && bytes_[1] == 0x8b;
    if (gzip_ && inflateInit2(&stream_, 15 + 16) != Z_OK) refuse("zlib has no memory");
    open_ = gzip_;
  }
  ~Input() {
    if (open_) inflateEnd(&stream_);
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// Reads up to `count` bytes of text; 0 only at the end. On an error `why` is set; bytes read before it are
  /// valid.
  size_t read(char* buffer, size_t count, std::string& why) {
    return gzip_ ? inflate_some(buffer, count, why) : copy_some(buffer, count);
  }
  /// Bytes of the file read so far.
  int64_t position() const { return position_; }

 private:
  void fill() {
    ssize_t got = 0;
    do got = ::read(file_.get(), bytes_.data(), bytes_.size());
    while (got < 0 && errno == EINTR);
    if (got < 0) data_fail("{}: cannot be read: {}", excerpt(path_), std::strerror(errno));
    next_ = 0;
    available_ = static_cast<size_t>(got);
    position_ += got;
  }

  size_t copy_some(char* buffer, size_t count) {
    if (next_ == available_) fill();
    const size_t n = std::min(count, available_ - next_);
    std::memcpy(buffer, bytes_.data() + next_, n);
    next_ += n;
    return n;
  }

  size_t inflate_some(char* buffer, size_t count, std::string& why) {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer);
    stream_.avail_out = static_cast<uInt>(count);
    while (stream_.avail_out == count && why.empty()) {
      if (next_ == available_) fill();
      if (available_ == 0) {
        if (!between_) why = "a truncated gzip: it ends in the middle";
        break;
      }
      if (between_ && !next_member(why)) continue;
      stream_.next_in = bytes_.data() + next_;
      stream_.avail_in = static_cast<uInt>(available_ - next_);
      const int result = inflate(&stream_, Z_NO_FLUSH);
      next_ = available_ - stream_.avail_in;
      if (result == Z_STREAM_END) {
        between_ = true;
        padded_ = false;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        why = fmt::format("a damaged gzip: {}", stream_.msg != nullptr ? stream_.msg : zError(result));
      }
    }
    const size_t size = count - stream_.avail_out;
    expanded_ += size;
    if (why.empty() && expanded_ > kHarmless && expanded_ / kMostExpansion > static_cast<uint64_t>(position_))
      why = fmt::format(
          "a gzip that expands to more than {} times its size, expected text; if intended, unpack it first",
          kMostExpansion);
    return size;
  }

  /// At the end of a gzip member: begins the next one, or skips zero padding. False if there is none.
  bool next_member(std::string& why) {
    if (bytes_[next_] == 0) {
      padded_ = true;
      ++next_;
      return false;
    }
    if (padded_ || bytes_[next_] != 0x1f) {
      why = "a damaged gzip: other bytes after its end";
      return false;
    }
    inflateReset(&stream_);
    between_ = false;
    return true;
  }

  std::string path_;
  detail::Descriptor file_;
  std::vector<unsigned char> bytes_ = std::vector<unsigned char>(kInput);
  size_t next_ = 0, available_ = 0;
  int64_t position_ = 0;
  bool gzip_ = false, open_ = false;
  bool between_ = false;  // between members: the last one is complete
  bool padded_ = false;
  uint64_t expanded_ = 0;
  z_stream stream_{};
};

TextSource::TextSource(std::string path, Progress* reading, size_t longest_line)
    : path_(std::move(path)),
      reading_(reading),
      longest_line_(longest_line),
      input_(std::make_unique<Input>(path_)) {}

TextSource::~TextSource() = default;

void TextSource::fail_with(int64_t line, const std::string& message) const {
  if (line <= 0) data_fail("{}: {}", excerpt(path_), message);
  data_fail("{}:{}: {}", excerpt(path_), line, message);
}

void TextSource::fail_utf8(int64_t line, std::string_view name) const {
  const size_t position = utf8_length(name);
  fail(line,
       "\"{}\": byte {} is {:#04x}, expected UTF-8; iconv -f latin1 -t utf-8 converts a text in Latin-1",
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
    if (lines_read_ == 0 && searched == 0 && text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
    if (lines_read_ == 0 && searched == 0) expect_line_feeds(text);
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
  if (!why.empty()) fail(std::max<int64_t>(lines_read_, 1), "{}", why);
  return !text.empty();
}

/// `text`: the beginning of the file.
void TextSource::expect_line_feeds(std::string_view text) const {
  const size_t position = text.find('\r');
  if (position != std::string_view::npos && position + 1 < text.size() &&
      text.find('\n') == std::string_view::npos)
    fail(1, "lines end in CR only, expected LF or CR LF: tr '\\r' '\\n' converts them");
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

int64_t lines_in(const std::string& path) {
  TextSource source(path);
  int64_t lines = 0;
  for (TextBlock block; source.next(block);)
    for (LineCursor cursor(block); cursor.next();) lines += !trimmed(cursor.line()).empty();
  return lines;
}

ReadProgress::ReadProgress(std::span<const std::string> paths)
    : Progress(
          [&] {
            int64_t bytes = 0;
            for (const std::string& path : paths) {
              std::error_code error;
              const auto size = std::filesystem::file_size(path, error);
              if (!error) bytes += static_cast<int64_t>(size);
            }
            return std::max<int64_t>(bytes / kKiB, 1);
          }(),
          0, "KiB read") {}

}  // namespace adj
