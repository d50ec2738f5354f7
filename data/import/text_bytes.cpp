#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/sqlite_file.h>
#include <adjoint/data/import/detail/text_bytes.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

}  // namespace

TextBytes::TextBytes(const std::string& path, const std::string& opened) : path_(path) {
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

TextBytes::~TextBytes() {
  if (open_) inflateEnd(&stream_);
}

size_t TextBytes::read(char* buffer, size_t count, std::string& why) {
  return gzip_ ? inflate_some(buffer, count, why) : copy_some(buffer, count);
}

void TextBytes::fill() {
  ssize_t got = 0;
  do got = ::read(file_.get(), bytes_.data(), bytes_.size());
  while (got < 0 && errno == EINTR);
  if (got < 0) data_fail("{}: cannot be read: {}", excerpt(path_), std::strerror(errno));
  next_ = 0;
  available_ = static_cast<size_t>(got);
  position_ += got;
}

size_t TextBytes::copy_some(char* buffer, size_t count) {
  if (next_ == available_) fill();
  const size_t n = std::min(count, available_ - next_);
  std::memcpy(buffer, bytes_.data() + next_, n);
  next_ += n;
  return n;
}

size_t TextBytes::inflate_some(char* buffer, size_t count, std::string& why) {
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

bool TextBytes::next_member(std::string& why) {
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

}  // namespace adj
