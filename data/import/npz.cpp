#include <adjoint/core/error.h>
#include <adjoint/core/progress.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/shape_text.h>
#include <adjoint/data/import/detail/npy_array.h>
#include <adjoint/data/import/npz.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sys/stat.h>
#include <zip.h>

namespace adj {

namespace {

using detail::shape_text;

constexpr size_t kNpzBlock = size_t{256} << 10;       // bytes read and converted at once
constexpr uint64_t kFreeBytes = uint64_t{256} << 20;  // that any file may be decompressed to
constexpr uint64_t kMostRatio = 200;
constexpr uint64_t kWorthABar = uint64_t{64} << 20;

constexpr std::string_view kSuffix = ".npy";
constexpr uint64_t kDeflateRatio = 1032;  // deflate's limit: nearly one bit for 258 bytes

/// A zip archive of .npy files, read on demand. All errors are one-line DataErrors naming the file and, if
/// any, the array (without ".npy").
class NpzArchive {
 public:
  struct Entry {
    uint64_t index = 0;
    uint64_t bytes = 0;   ///< uncompressed size, from the directory
    uint64_t packed = 0;  ///< compressed size
    uint16_t method = 0;
    bool encrypted = false;
  };

  /// Sequential reader of an entry's bytes.
  class Stream {
   public:
    /// Returns fewer bytes than requested only at the end, where the CRC is checked too.
    size_t read(void* buffer, size_t bytes) {
      size_t done = 0;
      while (done < bytes) {
        const zip_int64_t got = zip_fread(file_.get(), static_cast<char*>(buffer) + done, bytes - done);
        if (got < 0) archive_->fail(array_, "damaged: {}", zip_file_strerror(file_.get()));
        if (got == 0) break;
        done += static_cast<size_t>(got);
      }
      return done;
    }

   private:
    friend class NpzArchive;
    struct Close {
      void operator()(zip_file* file) const { zip_fclose(file); }
    };
    const NpzArchive* archive_ = nullptr;
    std::string array_;
    std::unique_ptr<zip_file, Close> file_;
  };

  static NpzArchive open(const std::string& path) {
    NpzArchive archive;
    archive.name_ = path;
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) data_fail("{}: {}", excerpt(path), std::strerror(errno));
    if (!S_ISREG(status.st_mode)) data_fail("{}: not a file", excerpt(path));
    archive.bytes_ = static_cast<uint64_t>(status.st_size);
    int code = 0;
    archive.zip_.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
    if (!archive.zip_) {
      char head[8] = {};
      size_t got = 0;
      if (FILE* file = std::fopen(path.c_str(), "rbe")) {
        got = std::fread(head, 1, sizeof(head), file);
        (void)std::fclose(file);
      } else {
        data_fail("{}: {}", excerpt(path), std::strerror(errno));
      }
      archive.fail_to_open({head, got}, code);
    }
    archive.list();
    return archive;
  }
  /// From memory, which must outlive the archive; `name` replaces the path in messages.
  static NpzArchive from_image(std::span<const std::byte> image, const std::string& name) {
    NpzArchive archive;
    archive.name_ = name;
    archive.bytes_ = image.size();
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source = zip_source_buffer_create(image.data(), image.size(), 0, &error);
    if (source != nullptr) {
      archive.zip_.reset(zip_open_from_source(source, ZIP_RDONLY, &error));
      if (!archive.zip_) zip_source_free(source);
    }
    const int code = zip_error_code_zip(&error);
    zip_error_fini(&error);
    if (!archive.zip_)
      archive.fail_to_open({reinterpret_cast<const char*>(image.data()), std::min<size_t>(8, image.size())},
                           code);
    archive.list();
    return archive;
  }

  const std::string& file() const { return name_; }
  uint64_t file_bytes() const { return bytes_; }
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  /// A stream at an entry's first byte, after checking the directory's information: a plain entry, stored or
  /// deflated, no larger than the file, and no higher compression ratio than deflate allows (zip bombs).
  Stream stream(const std::string& array) const {
    const Entry& facts = entries_.at(array);
    if (facts.encrypted) fail(array, "encrypted, expected plain");
    if (facts.method != ZIP_CM_STORE && facts.method != ZIP_CM_DEFLATE)
      fail(array, "compressed by method {}, expected stored or deflated", facts.method);
    if (facts.packed > bytes_)
      fail(array, "{} bytes in a file of {}: truncated or damaged", facts.packed, bytes_);
    if (facts.method == ZIP_CM_STORE ? facts.bytes != facts.packed
                                     : facts.bytes > kDeflateRatio * facts.packed + 64)
      fail(array, "{} bytes out of {}, more than there can be: damaged, or a zip bomb", facts.bytes,
           facts.packed);
    Stream stream;
    stream.archive_ = this;
    stream.array_ = array;
    stream.file_.reset(zip_fopen_index(zip_.get(), facts.index, ZIP_FL_UNCHANGED));
    if (!stream.file_) fail(array, "damaged: {}", zip_error_strerror(zip_get_error(zip_.get())));
    return stream;
  }
  template <class... Args>
  [[noreturn]] void fail(std::string_view array, fmt::format_string<Args...> format, Args&&... args) const {
    fail_with(array, fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void fail_with(std::string_view array, const std::string& message) const {
    data_fail("{}: {}: {}", excerpt(name_), excerpt(array), excerpt(message));
  }

 private:
  struct Discard {
    void operator()(zip* archive) const { zip_discard(archive); }
  };

  /// Explains why an archive cannot be opened, from its first bytes.
  [[noreturn]] void fail_to_open(std::string_view head, int code) const {
    if (bytes_ == 0) data_fail("{}: not an .npz file, it is empty", excerpt(name_));
    if (head.starts_with(kNpyMark))
      data_fail("{}: one array (.npy), expected an archive of them (.npz)", excerpt(name_));
    if (!head.starts_with("PK")) data_fail("{}: not an .npz file (a zip archive)", excerpt(name_));
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = excerpt(zip_error_strerror(&error));
    zip_error_fini(&error);
    if (code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS)
      data_fail("{}: its directory, which ends an .npz file, is missing or damaged: truncated?",
                excerpt(name_));
    data_fail("{}: cannot be read as a zip archive: {}", excerpt(name_), reason);
  }
  void list() {
    const zip_int64_t count = zip_get_num_entries(zip_.get(), ZIP_FL_UNCHANGED);
    for (zip_int64_t k = 0; k < count; ++k) {
      zip_stat_t stat;
      zip_stat_init(&stat);
      if (zip_stat_index(zip_.get(), static_cast<zip_uint64_t>(k), ZIP_FL_UNCHANGED | ZIP_FL_ENC_RAW,
                         &stat) != 0 ||
          (stat.valid & ZIP_STAT_NAME) == 0)
        data_fail("{}: entry {} of its directory is damaged", excerpt(name_), k);
      std::string_view entry = stat.name;
      if (!entry.ends_with(kSuffix)) continue;
      entry.remove_suffix(kSuffix.size());
      Entry facts;
      facts.index = static_cast<uint64_t>(k);
      facts.bytes = stat.size;
      facts.packed = stat.comp_size;
      facts.method = stat.comp_method;
      facts.encrypted =
          (stat.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && stat.encryption_method != ZIP_EM_NONE;
      if (!entries_.emplace(std::string(entry), facts).second)
        fail(entry, "twice in the archive, expected each name once");
    }
  }

  std::string name_;
  uint64_t bytes_ = 0;
  std::unique_ptr<zip, Discard> zip_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace

struct NpzReader::Array {
  NpyHeader header;
  uint64_t values_at = 0, bytes = 0;  // in its entry of the archive
};

struct NpzReader::Impl {
  NpzArchive archive;
  std::map<std::string, Array, std::less<>> arrays;  // those whose header was read
  uint64_t unpacked = 0;                             // bytes of values requested so far
  std::map<std::string, Rounding> rounding;

  explicit Impl(NpzArchive&& opened) : archive(std::move(opened)) {}

  Array read_header(const std::string& name_of) const {
    NpzArchive::Stream stream = archive.stream(name_of);
    std::string head(kNpyPreamble, '\0');
    head.resize(stream.read(head.data(), head.size()));
    const auto checked = [&](auto parse) {
      try {
        return parse();
      } catch (const DataError& error) {
        archive.fail_with(name_of, error.what());
      }
    };
    const NpyText text = checked([&] { return npy_text_place(head); });
    head.resize(text.begin + text.length);
    const size_t left = head.size() - kNpyPreamble;
    if (stream.read(head.data() + kNpyPreamble, left) < left) archive.fail(name_of, "ends within its header");
    return {checked([&] { return parse_npy_header(std::string_view(head).substr(text.begin)); }), head.size(),
            archive.entries().at(name_of).bytes};
  }

  /// Checks sizes for consistency and zip bombs before any allocation. Each element takes `bytes_each` in
  /// memory.
  void check_size(std::string_view name_of, const Array& array, size_t bytes_each) {
    const auto count = static_cast<uint64_t>(array.header.numel());
    const uint64_t values = count * array.header.width;
    if (array.bytes - array.values_at != values || array.bytes < array.values_at)
      archive.fail(name_of, "{} {} takes {} bytes, but the archive has {}", shape_text(array.header.shape),
                   array.header.type, values, array.bytes - std::min(array.bytes, array.values_at));
    unpacked += count * bytes_each;
    if (unpacked > std::max(kFreeBytes, kMostRatio * archive.file_bytes()))
      archive.fail(name_of, "{} bytes out of a file of {}, expected at most {} times as many: a zip bomb?",
                   unpacked, archive.file_bytes(), kMostRatio);
  }

  /// Calls take(values, count) over the array's bytes, block by block in file order.
  template <class F>
  void for_blocks(const std::string& name_of, const Array& array, F&& take) const {
    NpzArchive::Stream stream = archive.stream(name_of);
    std::vector<char> block(kNpzBlock);
    for (uint64_t left = array.values_at; left > 0;) {
      const size_t n = std::min<uint64_t>(left, block.size());
      if (stream.read(block.data(), n) < n) archive.fail(name_of, "ends within its header");
      left -= n;
    }
    const uint64_t bytes = array.bytes - array.values_at;
    std::optional<Progress> bar;
    if (bytes >= kWorthABar) bar.emplace(static_cast<int64_t>(bytes >> 20), 0, "MB");
    if (bar) bar->note(excerpt(name_of));
    for (uint64_t left = bytes; left > 0;) {
      const size_t n = std::min<uint64_t>(left, block.size());
      if (const size_t got = stream.read(block.data(), n); got < n)
        archive.fail(name_of, "ends after {} of {} bytes: truncated", bytes - left + got, bytes);
      take(block.data(), n);
      if (bar) bar->advance(static_cast<int64_t>(((bytes - left + n) >> 20) - ((bytes - left) >> 20)));
      left -= n;
    }
    if (stream.read(block.data(), 1) != 0)
      archive.fail(name_of, "more than the {} bytes that its shape takes", bytes);
  }
};

NpzReader::NpzReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
NpzReader::NpzReader(NpzReader&&) noexcept = default;
NpzReader& NpzReader::operator=(NpzReader&&) noexcept = default;
NpzReader::~NpzReader() = default;

NpzReader NpzReader::open(const std::string& path) {
  return NpzReader(std::make_unique<Impl>(NpzArchive::open(path)));
}

NpzReader NpzReader::from_image(std::span<const std::byte> image, const std::string& name) {
  return NpzReader(std::make_unique<Impl>(NpzArchive::from_image(image, name)));
}

const std::string& NpzReader::file() const { return impl_->archive.file(); }

uint64_t NpzReader::file_bytes() const { return impl_->archive.file_bytes(); }

std::vector<std::string> NpzReader::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : impl_->archive.entries()) names.push_back(name);
  return names;
}

const std::map<std::string, Rounding>& NpzReader::rounding() const { return impl_->rounding; }

bool NpzReader::has(std::string_view name) const { return impl_->archive.entries().contains(name); }

void NpzReader::fail_with(std::string_view array, const std::string& message) const {
  impl_->archive.fail_with(array, message);
}

const NpzReader::Array& NpzReader::array(std::string_view name) const {
  if (const auto found = impl_->arrays.find(name); found != impl_->arrays.end()) return found->second;
  if (!has(name)) fail(name, "missing, expected an array of this name");
  const std::string key(name);
  return impl_->arrays.emplace(key, impl_->read_header(key)).first->second;
}

const std::vector<int64_t>& NpzReader::shape(std::string_view name) const { return array(name).header.shape; }

DType NpzReader::dtype(std::string_view name) const {
  const NpyHeader& header = array(name).header;
  const size_t width = header.width;
  if (header.kind == NpyKind::boolean) return DType::u8;
  if (header.kind == NpyKind::integer) return width == 8 ? DType::i64 : DType::i32;
  if (header.kind == NpyKind::unsigned_integer)
    return width == 1 ? DType::u8 : width == 2 ? DType::i32 : DType::i64;
  if (header.kind == NpyKind::floating) return width == 8 ? DType::f64 : DType::f32;
  if (header.kind == NpyKind::object)
    fail(name, "pickled Python objects, which are not read: they can run any code; expected numbers");
  if (header.kind == NpyKind::bytes || header.kind == NpyKind::unicode)
    fail(name, "strings ({}), expected numbers", header.type);
  fail(name, "elements of the type {}, expected bools, integers or floats of 16, 32 or 64 bits", header.type);
}

bool NpzReader::is_bool(std::string_view name) const { return array(name).header.kind == NpyKind::boolean; }

bool NpzReader::is_integer(std::string_view name) const {
  const NpyKind kind = array(name).header.kind;
  return kind == NpyKind::boolean || kind == NpyKind::integer || kind == NpyKind::unsigned_integer;
}

Tensor NpzReader::tensor(std::string_view name) const {
  const DType as = dtype(name);
  if (shape(name).size() > 4) fail(name, "{} dimensions, expected at most 4", shape(name).size());
  return tensor(name, as, shape(name));
}

Tensor NpzReader::tensor(std::string_view name, DType as, const std::vector<int64_t>& shape) const {
  ADJ_CHECK(as != DType::bits && as != DType::bf16, "npz: {} is not read as {}", name, name_of(as));
  (void)dtype(name);
  const Array& facts = array(name);
  const NpyHeader& header = facts.header;
  if (!detail::has_shape(header.shape, shape))
    fail(name, "shape {}, expected {}", shape_text(header.shape), shape_text(shape));
  if (!is_floating(as) && !is_integer(name))
    fail(name, "elements of the type {}, expected integers", header.type);
  impl_->check_size(name, facts, size_of(as));

  Tensor result = Tensor::empty(Shape(std::span<const int64_t>(header.shape)), as);
  NpyValues values(header, result);
  impl_->for_blocks(std::string(name), facts, [&](const char* bytes, size_t n) {
    try {
      values.take(bytes, n);
    } catch (const DataError& error) {
      impl_->archive.fail_with(name, error.what());
    }
  });
  if (const Rounding rounding = values.rounding(); !rounding.empty())
    impl_->rounding[std::string(name)] = rounding;
  return result;
}

int64_t NpzReader::integer(std::string_view name) const {
  const NpyHeader& header = array(name).header;
  if (header.numel() != 1 || header.shape.size() > 1)
    fail(name, "shape {}, expected one integer", shape_text(header.shape));
  return tensor(name, DType::i64, header.shape).data<int64_t>()[0];
}

std::string NpzReader::text(std::string_view name) const {
  constexpr size_t kLongest = 4096;
  const Array& facts = array(name);
  const NpyHeader& header = facts.header;
  const bool wide = header.kind == NpyKind::unicode;
  if ((header.kind != NpyKind::bytes && !wide) || header.numel() != 1)
    fail(name, "{} of the type {}, expected one string", shape_text(header.shape), header.type);
  if (header.width > kLongest)
    fail(name, "a string of {} bytes, expected at most {}", header.width, kLongest);
  impl_->check_size(name, facts, header.width);
  std::string raw;
  impl_->for_blocks(std::string(name), facts, [&](const char* bytes, size_t n) { raw.append(bytes, n); });
  try {
    return npy_text(header, raw);
  } catch (const DataError& error) {
    fail(name, "{}", error.what());
  }
}

}  // namespace adj
