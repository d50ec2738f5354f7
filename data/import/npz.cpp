#include <adjoint/core/progress.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/npy_header.h>
#include <adjoint/data/import/npz.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include <sys/stat.h>
#include <zip.h>

namespace adj {

namespace {

constexpr std::string_view kMark("\x93NUMPY", 6);
constexpr std::string_view kSuffix = ".npy";
constexpr size_t kBlock = size_t{256} << 10;          // bytes that are read and converted at once
constexpr uint64_t kFreeBytes = uint64_t{256} << 20;  // that any file may be unpacked to
constexpr uint64_t kMostRatio = 200;
constexpr uint64_t kDeflateRatio = 1032;  // of one bit for 258 bytes, nearly; more cannot be
constexpr uint64_t kWorthABar = uint64_t{64} << 20;

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};

std::string shape_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> extents;
  for (int64_t extent : shape) extents.push_back(extent < 0 ? "*" : std::to_string(extent));
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

/// IEEE 754's 16 bits, which float32 holds exactly.
float from_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16, magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  const float small = static_cast<float>(magnitude) * 0x1p-24f;
  return sign != 0 ? -small : small;
}

/// How an element lies in the file.
struct Half {
  uint16_t bits;
};
struct Bool {
  uint8_t byte;
};

template <class S>
S load(const char* from, bool swapped) {
  std::array<char, sizeof(S)> bytes;
  std::memcpy(bytes.data(), from, sizeof(S));
  if (swapped) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<S>(bytes);
}

/// `value` as T where it fits.
template <class T, class S>
bool converts(S value, T* to) {
  if constexpr (std::is_same_v<S, Half>) {
    return converts(from_half(value.bits), to);
  } else if constexpr (std::is_same_v<S, Bool>) {
    *to = static_cast<T>(value.byte);
    return value.byte <= 1;
  } else if constexpr (std::is_floating_point_v<T>) {
    *to = static_cast<T>(value);
    if constexpr (std::is_same_v<S, double> && std::is_same_v<T, float>)
      return std::isfinite(*to) || !std::isfinite(value);
    return true;
  } else if constexpr (std::is_floating_point_v<S>) {
    return false;
  } else {
    *to = static_cast<T>(value);
    return std::in_range<T>(value);
  }
}

template <class S>
std::string number_text(S value) {
  if constexpr (std::is_same_v<S, Half>) return fmt::format("{}", from_half(value.bits));
  if constexpr (std::is_same_v<S, Bool>) return fmt::format("{}", value.byte);
  if constexpr (std::is_arithmetic_v<S>) return fmt::format("{}", value);
}

/// Calls f.template operator()<S>() with how the array's elements lie in the file.
template <class F>
void dispatch(const NpyHeader& header, F&& f) {
  const size_t width = header.width;
  switch (header.kind) {
    case NpyKind::boolean:
      return f.template operator()<Bool>();
    case NpyKind::integer:
      if (width == 1) return f.template operator()<int8_t>();
      if (width == 2) return f.template operator()<int16_t>();
      if (width == 4) return f.template operator()<int32_t>();
      return f.template operator()<int64_t>();
    case NpyKind::unsigned_integer:
      if (width == 1) return f.template operator()<uint8_t>();
      if (width == 2) return f.template operator()<uint16_t>();
      if (width == 4) return f.template operator()<uint32_t>();
      return f.template operator()<uint64_t>();
    default:
      if (width == 2) return f.template operator()<Half>();
      if (width == 4) return f.template operator()<float>();
      return f.template operator()<double>();
  }
}

/// Where the elements go, which come in the file's order: their places in row-major order.
class Places {
 public:
  explicit Places(const NpyHeader& header)
      : shape_(header.shape), at_(shape_.size()), stride_(shape_.size(), 1) {
    for (size_t d = shape_.size(); d-- > 1;) stride_[d - 1] = stride_[d] * std::max<int64_t>(1, shape_[d]);
  }
  int64_t next() {
    const int64_t place = place_;
    for (size_t d = 0; d < shape_.size(); ++d) {
      place_ += stride_[d];
      if (++at_[d] < shape_[d]) break;
      place_ -= stride_[d] * shape_[d];
      at_[d] = 0;
    }
    return place;
  }

 private:
  std::vector<int64_t> shape_, at_, stride_;
  int64_t place_ = 0;
};

/// Of the element at that place: "row 3, column 1".
std::string place_text(const std::vector<int64_t>& shape, int64_t place) {
  if (shape.empty()) return "its only element";
  if (shape.size() == 1) return fmt::format("position {}", place);
  if (shape.size() == 2) return fmt::format("row {}, column {}", place / shape[1], place % shape[1]);
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; place /= shape[d]) index[d] = place % shape[d];
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::string expected_text(DType as) {
  if (as == DType::u8) return "integers from 0 to 255";
  if (is_floating(as)) return fmt::format("numbers that {} holds", name_of(as));
  return fmt::format("integers that {} holds", name_of(as));
}

}  // namespace

/// An entry of the archive, and once it was looked at what it holds.
struct NpzReader::Array {
  uint64_t index = 0;
  uint64_t bytes = 0;   // unpacked, as the directory says
  uint64_t packed = 0;  // as they lie in the file
  uint16_t method = 0;
  bool encrypted = false;
  std::optional<NpyHeader> header;
  uint64_t values_at = 0;
};

struct NpzReader::Impl {
  std::string name;
  uint64_t file_bytes = 0;
  std::unique_ptr<zip_t, CloseArchive> archive;
  std::map<std::string, Array, std::less<>> arrays;
  uint64_t unpacked = 0;  // bytes of values asked for so far

  [[noreturn]] void fail(std::string_view array, const std::string& message) const {
    throw_data_error(fmt::format("{}: {}: {}", excerpt(name), excerpt(array), excerpt(message)));
  }

  /// Says what an archive that cannot be opened is, by how it begins.
  [[noreturn]] void fail_to_open(std::string_view head, int code) const {
    if (file_bytes == 0) data_fail("{}: not an .npz file, it is empty", excerpt(name));
    if (head.starts_with(kMark))
      data_fail("{}: one array (.npy), expected an archive of them (.npz)", excerpt(name));
    if (!head.starts_with("PK")) data_fail("{}: not an .npz file (a zip archive)", excerpt(name));
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = excerpt(zip_error_strerror(&error));
    zip_error_fini(&error);
    if (code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS)
      data_fail("{}: its directory, which ends an .npz file, is missing or damaged: truncated?",
                excerpt(name));
    data_fail("{}: cannot be read as a zip archive: {}", excerpt(name), reason);
  }

  void list() {
    const zip_int64_t count = zip_get_num_entries(archive.get(), ZIP_FL_UNCHANGED);
    for (zip_int64_t k = 0; k < count; ++k) {
      zip_stat_t stat;
      zip_stat_init(&stat);
      if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(k), ZIP_FL_UNCHANGED | ZIP_FL_ENC_RAW,
                         &stat) != 0 ||
          (stat.valid & ZIP_STAT_NAME) == 0)
        data_fail("{}: entry {} of its directory is damaged", excerpt(name), k);
      std::string_view entry = stat.name;
      if (!entry.ends_with(kSuffix)) continue;
      entry.remove_suffix(kSuffix.size());
      Array array;
      array.index = static_cast<uint64_t>(k);
      array.bytes = stat.size;
      array.packed = stat.comp_size;
      array.method = stat.comp_method;
      array.encrypted =
          (stat.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && stat.encryption_method != ZIP_EM_NONE;
      if (!arrays.emplace(std::string(entry), array).second)
        fail(entry, "twice in the archive, expected each name once");
    }
  }

  using Entry = std::unique_ptr<zip_file_t, CloseEntry>;

  /// At its first byte, once the directory's word about it can be true.
  Entry open_entry(std::string_view array, const Array& facts) const {
    if (facts.encrypted) fail(array, "encrypted, expected plain");
    if (facts.method != ZIP_CM_STORE && facts.method != ZIP_CM_DEFLATE)
      fail(array, fmt::format("compressed by method {}, expected stored or deflated", facts.method));
    if (facts.packed > file_bytes)
      fail(array, fmt::format("{} bytes in a file of {}: truncated or damaged", facts.packed, file_bytes));
    if (facts.method == ZIP_CM_STORE ? facts.bytes != facts.packed
                                     : facts.bytes > kDeflateRatio * facts.packed + 64)
      fail(array, fmt::format("{} bytes out of {}, more than there can be: damaged, or a zip bomb",
                              facts.bytes, facts.packed));
    Entry entry(zip_fopen_index(archive.get(), facts.index, ZIP_FL_UNCHANGED));
    if (!entry) fail(array, fmt::format("damaged: {}", zip_error_strerror(zip_get_error(archive.get()))));
    return entry;
  }

  /// Fewer bytes than asked for at the end alone, where the CRC is checked too.
  size_t read(std::string_view array, zip_file_t* entry, void* to, size_t bytes) const {
    size_t done = 0;
    while (done < bytes) {
      const zip_int64_t got = zip_fread(entry, static_cast<char*>(to) + done, bytes - done);
      if (got < 0) fail(array, fmt::format("damaged: {}", zip_file_strerror(entry)));
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

  void read_header(std::string_view name_of, Array& array) const {
    const Entry entry = open_entry(name_of, array);
    std::string head(kNpyPreamble, '\0');
    const size_t got = read(name_of, entry.get(), head.data(), head.size());
    if (got < head.size() || !head.starts_with(kMark)) fail(name_of, "not an array of numpy's (.npy)");
    const int version = static_cast<unsigned char>(head[6]);
    if (version < 1 || version > 3)
      fail(name_of, fmt::format("version {} of numpy's format, expected 1 to 3", version));
    const auto byte = [&](size_t k) { return size_t{static_cast<unsigned char>(head[k])}; };
    const size_t preamble = version == 1 ? 10 : 12;
    const size_t length =
        version == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
    if (length > kNpyLongestText)
      fail(name_of, fmt::format("a header of {} bytes, expected at most {}", length, kNpyLongestText));
    std::string text = head.substr(preamble);
    if (length < text.size()) fail(name_of, fmt::format("a header of {} bytes, too short", length));
    const size_t begun = text.size();
    text.resize(length);
    if (read(name_of, entry.get(), text.data() + begun, length - begun) < length - begun)
      fail(name_of, "ends within its header");
    try {
      array.header = parse_npy_header(text);
    } catch (const DataError& error) {
      fail(name_of, error.what());
    }
    array.values_at = preamble + length;
  }

  /// Sizes that agree and are no bomb's, before any memory is taken for them.
  /// Each element takes `bytes_each` of it.
  void check_size(std::string_view name_of, const Array& array, size_t bytes_each) {
    const auto count = static_cast<uint64_t>(array.header->numel());
    const uint64_t values = count * array.header->width;
    if (array.bytes - array.values_at != values || array.bytes < array.values_at)
      fail(name_of,
           fmt::format("{} {} takes {} bytes, but {} stand in the archive", shape_text(array.header->shape),
                       array.header->type, values, array.bytes - std::min(array.bytes, array.values_at)));
    unpacked += count * bytes_each;
    if (unpacked > std::max(kFreeBytes, kMostRatio * file_bytes))
      fail(name_of,
           fmt::format("{} bytes out of a file of {}, expected at most {} times as many: a zip bomb?",
                       unpacked, file_bytes, kMostRatio));
  }

  /// Calls take(values, count) over the array's bytes, in blocks, as they come.
  template <class F>
  void for_blocks(std::string_view name_of, const Array& array, F&& take) const {
    const Entry entry = open_entry(name_of, array);
    std::vector<char> block(kBlock);
    for (uint64_t left = array.values_at; left > 0;) {
      const size_t n = std::min<uint64_t>(left, block.size());
      if (read(name_of, entry.get(), block.data(), n) < n) fail(name_of, "ends within its header");
      left -= n;
    }
    const uint64_t bytes = array.bytes - array.values_at;
    std::optional<Progress> bar;
    if (bytes >= kWorthABar) bar.emplace(static_cast<int64_t>(bytes >> 20), 0, "MB");
    if (bar) bar->note(excerpt(name_of));
    for (uint64_t left = bytes; left > 0;) {
      const size_t n = std::min<uint64_t>(left, block.size());
      if (const size_t got = read(name_of, entry.get(), block.data(), n); got < n)
        fail(name_of, fmt::format("ends after {} of {} bytes: truncated", bytes - left + got, bytes));
      take(block.data(), n);
      if (bar) bar->advance(static_cast<int64_t>(((bytes - left + n) >> 20) - ((bytes - left) >> 20)));
      left -= n;
    }
    if (read(name_of, entry.get(), block.data(), 1) != 0)
      fail(name_of, fmt::format("more than the {} bytes that its shape takes", bytes));
  }
};

NpzReader::NpzReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
NpzReader::NpzReader(NpzReader&&) noexcept = default;
NpzReader& NpzReader::operator=(NpzReader&&) noexcept = default;
NpzReader::~NpzReader() = default;

NpzReader NpzReader::open(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->name = path;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) data_fail("{}: {}", excerpt(path), std::strerror(errno));
  if (!S_ISREG(status.st_mode)) data_fail("{}: not a file", excerpt(path));
  impl->file_bytes = static_cast<uint64_t>(status.st_size);
  int code = 0;
  impl->archive.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!impl->archive) {
    char head[8] = {};
    size_t got = 0;
    if (FILE* file = std::fopen(path.c_str(), "rbe")) {
      got = std::fread(head, 1, sizeof(head), file);
      (void)std::fclose(file);
    } else {
      data_fail("{}: {}", excerpt(path), std::strerror(errno));
    }
    impl->fail_to_open({head, got}, code);
  }
  impl->list();
  return NpzReader(std::move(impl));
}

NpzReader NpzReader::from_image(std::span<const std::byte> image, const std::string& name) {
  auto impl = std::make_unique<Impl>();
  impl->name = name;
  impl->file_bytes = image.size();
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(image.data(), image.size(), 0, &error);
  if (source != nullptr) {
    impl->archive.reset(zip_open_from_source(source, ZIP_RDONLY, &error));
    if (!impl->archive) zip_source_free(source);
  }
  const int code = zip_error_code_zip(&error);
  zip_error_fini(&error);
  if (!impl->archive)
    impl->fail_to_open({reinterpret_cast<const char*>(image.data()), std::min<size_t>(8, image.size())},
                       code);
  impl->list();
  return NpzReader(std::move(impl));
}

const std::string& NpzReader::file() const { return impl_->name; }

std::vector<std::string> NpzReader::names() const {
  std::vector<std::string> names;
  for (const auto& [name, array] : impl_->arrays) names.push_back(name);
  return names;
}

bool NpzReader::has(std::string_view name) const { return impl_->arrays.find(name) != impl_->arrays.end(); }

void NpzReader::fail_with(std::string_view array, const std::string& message) const {
  impl_->fail(array, message);
}

const NpzReader::Array& NpzReader::array(std::string_view name) const {
  const auto found = impl_->arrays.find(name);
  if (found == impl_->arrays.end()) fail(name, "missing, expected an array of this name");
  if (!found->second.header) impl_->read_header(name, found->second);
  return found->second;
}

const std::vector<int64_t>& NpzReader::shape(std::string_view name) const {
  return array(name).header->shape;
}

DType NpzReader::dtype(std::string_view name) const {
  const NpyHeader& header = *array(name).header;
  switch (header.kind) {
    case NpyKind::boolean:
      return DType::u8;
    case NpyKind::integer:
      return header.width == 8 ? DType::i64 : DType::i32;
    case NpyKind::unsigned_integer:
      return header.width == 1 ? DType::u8 : header.width == 2 ? DType::i32 : DType::i64;
    case NpyKind::floating:
      return header.width == 8 ? DType::f64 : DType::f32;
    case NpyKind::object:
      fail(name, "pickled Python objects, which are not read: they can run any code; expected numbers");
    case NpyKind::bytes:
    case NpyKind::unicode:
      fail(name, "strings ({}), expected numbers", header.type);
    case NpyKind::other:
      break;
  }
  fail(name, "elements of the type {}, expected bools, integers or floats of 16, 32 or 64 bits", header.type);
}

bool NpzReader::is_bool(std::string_view name) const { return array(name).header->kind == NpyKind::boolean; }

bool NpzReader::is_integer(std::string_view name) const {
  const NpyKind kind = array(name).header->kind;
  return kind == NpyKind::boolean || kind == NpyKind::integer || kind == NpyKind::unsigned_integer;
}

Tensor NpzReader::tensor(std::string_view name) const {
  const DType as = dtype(name);
  const std::vector<int64_t>& n = shape(name);
  switch (n.size()) {
    case 0:
      return tensor(name, as, {});
    case 1:
      return tensor(name, as, {n[0]});
    case 2:
      return tensor(name, as, {n[0], n[1]});
    case 3:
      return tensor(name, as, {n[0], n[1], n[2]});
    case 4:
      return tensor(name, as, {n[0], n[1], n[2], n[3]});
    default:
      fail(name, "{} dimensions, expected at most 4", n.size());
  }
}

Tensor NpzReader::tensor(std::string_view name, DType as, std::initializer_list<int64_t> shape) const {
  ADJ_CHECK(as != DType::bits && as != DType::bf16, "npz: {} is not read as {}", name, name_of(as));
  (void)dtype(name);
  const Array& facts = array(name);
  const NpyHeader& header = *facts.header;
  const bool fits = header.shape.size() == shape.size() &&
                    std::equal(shape.begin(), shape.end(), header.shape.begin(),
                               [](int64_t wanted, int64_t found) { return wanted == -1 || wanted == found; });
  if (!fits) fail(name, "shape {}, expected {}", shape_text(header.shape), shape_text(shape));
  if (!is_floating(as) && !is_integer(name))
    fail(name, "elements of the type {}, expected integers", header.type);
  impl_->check_size(name, facts, size_of(as));

  Tensor result = Tensor::empty(Shape(std::span<const int64_t>(header.shape)), as);
  Places places(header);
  const bool transposed = header.fortran_order && header.shape.size() > 1;
  int64_t at = 0;
  const auto read_as = [&]<class T>() {
    T* const to = result.mutable_data<T>();
    dispatch(header, [&]<class S>() {
      impl_->for_blocks(name, facts, [&](const char* bytes, size_t n) {
        for (const char* end = bytes + n; bytes < end; bytes += sizeof(S), ++at) {
          const S value = load<S>(bytes, header.swapped);
          const int64_t place = transposed ? places.next() : at;
          if (!converts(value, to + place)) [[unlikely]]
            fail(name, "{} at {}, expected {}", number_text(value), place_text(header.shape, place),
                 std::is_same_v<S, Bool> ? "bools, 0 or 1" : expected_text(as));
        }
      });
    });
  };
  switch (as) {
    case DType::u8:
      read_as.operator()<uint8_t>();
      break;
    case DType::i32:
      read_as.operator()<int32_t>();
      break;
    case DType::i64:
      read_as.operator()<int64_t>();
      break;
    case DType::f64:
      read_as.operator()<double>();
      break;
    default:
      read_as.operator()<float>();
  }
  return result;
}

int64_t NpzReader::integer(std::string_view name) const {
  if (array(name).header->numel() != 1) fail(name, "shape {}, expected one integer", shape_text(shape(name)));
  Tensor value;
  switch (shape(name).size()) {
    case 0:
      value = tensor(name, DType::i64, {});
      break;
    case 1:
      value = tensor(name, DType::i64, {1});
      break;
    default:
      fail(name, "shape {}, expected one integer", shape_text(shape(name)));
  }
  return value.data<int64_t>()[0];
}

std::string NpzReader::text(std::string_view name) const {
  constexpr size_t kLongest = 4096;
  const Array& facts = array(name);
  const NpyHeader& header = *facts.header;
  const bool wide = header.kind == NpyKind::unicode;
  if ((header.kind != NpyKind::bytes && !wide) || header.numel() != 1)
    fail(name, "{} of the type {}, expected one string", shape_text(header.shape), header.type);
  if (header.width > kLongest)
    fail(name, "a string of {} bytes, expected at most {}", header.width, kLongest);
  impl_->check_size(name, facts, header.width);
  std::string raw, text;
  impl_->for_blocks(name, facts, [&](const char* bytes, size_t n) { raw.append(bytes, n); });
  if (!wide) text = raw;
  for (size_t k = 0; wide && k + 4 <= raw.size(); k += 4) {
    const auto character = load<uint32_t>(raw.data() + k, header.swapped);
    if (character >= 0x80) fail(name, "a character beyond ASCII in a string");
    text.push_back(static_cast<char>(character));
  }
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

}  // namespace adj
