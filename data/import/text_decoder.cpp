#include <adjoint/core/detail/descriptor.h>
#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/sqlite_file.h>
#include <adjoint/data/import/detail/text_decoder.h>
#include <adjoint/data/import/text_source.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <iconv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace adj {

namespace {

/// Maximum expansion of a text gzip, relative to the compressed bytes read so far: deflate shrinks meaningful
/// text to a tenth, and to a fortieth if most lines are similar; close to a thousandth means one endless
/// line. Small texts are harmless.
constexpr uint64_t kHarmless = uint64_t{16} << 20;
constexpr uint64_t kMostExpansion = 100;

/// Unsupported formats by their first bytes, and the tool that converts them.
struct Unread {
  std::string_view bytes, name, remedy;
};
constexpr Unread kUnread[] = {
    {"BZh", "a bzip2 archive", "unpack it (bunzip2)"},
    {"\xfd"
     "7zXZ",
     "an xz archive", "unpack it (unxz)"},
    {"\x28\xb5\x2f\xfd", "a zstd archive", "unpack it (unzstd)"},
    {"PK\x03\x04", "a zip archive",
     "unpack it (unzip); .npz is read by `convert npz`, or as a matrix with --layout matrix"},
    {"\x93NUMPY", "an array of NumPy",
     "a matrix is read with --layout matrix, features and labels by data/to_adjoint.py"},
    {"PAR1\x15", "a Parquet file", "the Python module takes its data frame (pandas.read_parquet)"},
    {std::string_view("ARROW1\0\0", 8), "an Arrow file",
     "the Python module takes its table (pyarrow.feather.read_table)"},
    {"MATLAB ", "a file of MATLAB", "a matrix is read with --layout matrix"},
    {"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it (7z x)"}};

/// Three letters and a digit alone could also begin a text.
bool is_bzip2(std::string_view bytes) {
  const std::string_view behind = bytes.substr(std::min<size_t>(4, bytes.size()), 6);
  return behind == "\x31\x41\x59\x26\x53\x59" || behind == "\x17\x72\x45\x38\x50\x90";
}

constexpr size_t kBeginning = size_t{1} << 18;  // bytes that decide
constexpr size_t kPiece = size_t{1} << 16;      // decoded at once

/// Byte order marks; the longer first.
struct Mark {
  std::string_view bytes, encoding;
};
constexpr Mark kMarks[] = {{"\xef\xbb\xbf", ""},
                           {std::string_view("\xff\xfe\0\0", 4), "UTF-32LE"},
                           {std::string_view("\0\0\xfe\xff", 4), "UTF-32BE"},
                           {"\xff\xfe", "UTF-16LE"},
                           {"\xfe\xff", "UTF-16BE"}};

/// A suffix as //IGNORE would drop characters.
iconv_t opened_converter(const std::string& encoding) {
  return encoding.find('/') == std::string::npos ? ::iconv_open("UTF-8", encoding.c_str())
                                                 : reinterpret_cast<iconv_t>(-1);
}
bool is_open(iconv_t converter) { return converter != reinterpret_cast<iconv_t>(-1); }

}  // namespace

/// The bytes of a regular file, after gzip decompression (see TextSource).
class TextBytes {
 public:
  /// Reads the file `opened`; `path` is its name in messages.
  TextBytes(const std::string& path, const std::string& opened) : path_(path) {
    const auto refuse = [&](const std::string& why) { data_fail("{}: {}", excerpt(path), why); };
    file_ = detail::Descriptor(::open(opened.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file_.get() < 0) refuse(fmt::format("cannot be opened: {}", std::strerror(errno)));
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) refuse(std::strerror(errno));
    if (S_ISDIR(status.st_mode)) refuse("a folder, expected a file");
    if (!S_ISREG(status.st_mode)) refuse("not a regular file");
    size_ = status.st_size;
    fill();
    const std::string_view first(reinterpret_cast<const char*>(bytes_.data()), available_);
    for (const Unread& unread : kUnread)
      if (first.starts_with(unread.bytes) && (unread.bytes != "BZh" || is_bzip2(first)))
        refuse(fmt::format("{}, expected text, plain or gzip: {}", unread.name, unread.remedy));
    if (detail::begins_as_sqlite(first)) refuse(detail::sqlite_remedy(path));
    gzip_ = available_ >= 2 && bytes_[0] == 0x1f && bytes_[1] == 0x8b;
    if (gzip_ && inflateInit2(&stream_, 15 + 16) != Z_OK) refuse("zlib has no memory");
    open_ = gzip_;
  }
  ~TextBytes() {
    if (open_) inflateEnd(&stream_);
  }
  TextBytes(const TextBytes&) = delete;
  TextBytes& operator=(const TextBytes&) = delete;

  /// Reads up to `count` bytes of text; 0 only at the end. On an error `why` is set; bytes read before it are
  /// valid.
  size_t read(char* buffer, size_t count, std::string& why) {
    return gzip_ ? inflate_some(buffer, count, why) : copy_some(buffer, count);
  }
  /// Bytes of the file read so far.
  int64_t position() const { return position_; }
  /// Bytes of the file.
  int64_t size() const { return size_; }

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
  std::vector<unsigned char> bytes_ = std::vector<unsigned char>(size_t{1} << 18);
  size_t next_ = 0, available_ = 0;
  int64_t position_ = 0, size_ = 0;
  bool gzip_ = false, open_ = false;
  bool between_ = false;  // between members: the last one is complete
  bool padded_ = false;
  uint64_t expanded_ = 0;
  z_stream stream_{};
};

bool is_encoding(const std::string& name) {
  const iconv_t converter = opened_converter(name);
  if (is_open(converter)) ::iconv_close(converter);
  return !name.empty() && is_open(converter);
}

TextDecoder::TextDecoder(const std::string& path, const std::string& opened, const std::string& encoding)
    : bytes_(std::make_unique<TextBytes>(path, opened)), encoding_(encoding) {}

TextDecoder::~TextDecoder() {
  if (converter_ != nullptr) ::iconv_close(converter_);
}

int64_t TextDecoder::position() const { return bytes_->position(); }
int64_t TextDecoder::bytes() const { return bytes_->size(); }

std::string TextDecoder::found() const {
  return (by_mark_ && !encoding_.empty() ? fmt::format("; {} by its byte order mark", encoding_) : "") +
         (carriage_returns_ ? "; lines end in CR" : "");
}

void TextDecoder::begin() {
  begun_ = true;
  raw_.resize(kBeginning);
  size_t filled = 0;
  for (size_t got = 1; got > 0 && filled < raw_.size() && why_.empty(); filled += got)
    got = bytes_->read(raw_.data() + filled, raw_.size() - filled, why_);
  raw_.resize(filled);
  for (const Mark& mark : kMarks)
    if (!by_mark_ && raw_.starts_with(mark.bytes)) {
      raw_.erase(0, mark.bytes.size());
      encoding_ = mark.encoding;
      by_mark_ = true;
    }
  if (encoding_.empty()) {
    text_.swap(raw_);
  } else {
    const iconv_t converter = opened_converter(encoding_);
    if (!is_open(converter)) data_fail("encoding \"{}\", expected one that iconv knows", excerpt(encoding_));
    converter_ = converter;
    const std::string broken = std::exchange(why_, "");  // of the bytes: comes after them
    while (text_.size() < kBeginning && decode()) {
    }
    if (why_.empty()) why_ = broken;
  }
  if (text_.find('\0') != std::string::npos) {
    why_ = "a zero byte, expected text (in UTF-16 it is read with --encoding utf-16le or utf-16be)";
    text_.resize(text_.find('\0'));
  }
  const size_t position = text_.find('\r');
  carriage_returns_ =
      position != std::string::npos && position + 1 < text_.size() && text_.find('\n') == std::string::npos;
}

bool TextDecoder::decode() {
  if (next_ == text_.size()) {
    text_.clear();
    next_ = 0;
  }
  if (raw_.size() < kPiece && !over_) {
    const size_t before = raw_.size();
    raw_.resize(before + kPiece);
    const size_t got = bytes_->read(raw_.data() + before, kPiece, why_);
    raw_.resize(before + got);
    over_ = got == 0;
  }
  const size_t before = text_.size();
  text_.resize(before + kPiece);
  char *in = raw_.data(), *out = text_.data() + before;
  size_t in_left = raw_.size(), out_left = kPiece;
  const bool flush = raw_.empty();  // characters that wait for what combines with them
  const size_t result =
      ::iconv(converter_, flush ? nullptr : &in, flush ? nullptr : &in_left, &out, &out_left);
  const int error = result == static_cast<size_t>(-1) ? errno : 0;
  raw_.erase(0, raw_.size() - in_left);
  text_.resize(text_.size() - out_left);
  if (error == EILSEQ && why_.empty())
    why_ = fmt::format("byte {:#04x} begins no character of {}, expected text in it{}",
                       raw_.empty() ? 0 : static_cast<unsigned char>(raw_[0]), encoding_,
                       by_mark_ ? " by its byte order mark" : " (--encoding names another)");
  if (error == EINVAL && over_ && why_.empty())
    why_ = fmt::format("it ends within a character of {}", encoding_);
  return why_.empty() && !(flush && over_);
}

size_t TextDecoder::read(char* buffer, size_t count, std::string& why) {
  if (!begun_) begin();
  while (converter_ != nullptr && next_ == text_.size() && why_.empty() && decode()) {
  }
  size_t n = std::min(count, text_.size() - next_);
  if (n > 0) {
    std::memcpy(buffer, text_.data() + next_, n);
    next_ += n;
  } else if (converter_ == nullptr && why_.empty()) {
    n = bytes_->read(buffer, count, why_);
  }
  if (next_ == text_.size() && !why_.empty()) why = why_;
  if (!carriage_returns_) return n;
  if (const char* feed = std::find(buffer, buffer + n, '\n'); feed != buffer + n) {
    why = "a line that ends in LF after lines that end in CR, expected ends of one kind";
    n = static_cast<size_t>(feed - buffer);
  }
  std::replace(buffer, buffer + n, '\r', '\n');
  return n;
}

}  // namespace adj
