#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/mat_file.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include <zlib.h>

namespace adj::detail {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr size_t kHead = 128;
enum Kind : uint32_t { kInt32 = 5, kMatrix = 14, kCompressed = 15 };
enum Class : uint8_t { kSparse = 5, kDouble = 6, kLast = 15 };  // those between are full matrices of numbers

/// A data element: its type and its bytes.
struct Element {
  uint32_t kind;
  std::string_view bytes;
};

/// Reads the elements of a file, or of a matrix.
class Elements {
 public:
  Elements(const std::string& path, std::string_view bytes) : path_(path), rest_(bytes) {}

  bool more() const { return !rest_.empty(); }
  Element next() {
    const auto first = take_word(), low = first & 0xffff, high = first >> 16;
    if (high != 0)
      return {low, take(4).substr(0, std::min<size_t>(high, 4))};  // up to four bytes, in the tag
    const uint32_t size = take_word();
    const std::string_view bytes = take(size);
    if (first != kCompressed) rest_.remove_prefix(std::min<size_t>((8 - size % 8) % 8, rest_.size()));
    return {first, bytes};
  }

 private:
  std::string_view take(size_t size) {
    if (size > rest_.size()) data_fail("{}: a MAT-file that is truncated or damaged", excerpt(path_));
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  uint32_t take_word() {
    uint32_t word = 0;
    std::memcpy(&word, take(4).data(), 4);
    return word;
  }

  const std::string& path_;
  std::string_view rest_;
};

template <class T, class To>
std::vector<To> converted(std::string_view bytes) {
  std::vector<To> values(bytes.size() / sizeof(T));
  for (size_t k = 0; k < values.size(); ++k) {
    T value{};
    std::memcpy(&value, bytes.data() + k * sizeof(T), sizeof(T));
    values[k] = static_cast<To>(value);
  }
  return values;
}

/// Empty for an element that has no numbers.
template <class To>
std::vector<To> numbers(const Element& element) {
  std::vector<To> values;
  const auto take_as = [&]<class T>(uint32_t kind, T) {
    if (element.kind == kind) values = converted<T, To>(element.bytes);
  };
  take_as(1, int8_t{}), take_as(2, uint8_t{}), take_as(3, int16_t{}), take_as(4, uint16_t{});
  take_as(kInt32, int32_t{}), take_as(6, uint32_t{}), take_as(7, 0.0f), take_as(9, 0.0);
  take_as(12, int64_t{}), take_as(13, uint64_t{});
  return values;
}

std::string inflated(const std::string& path, std::string_view packed) {
  constexpr size_t kFree = size_t{256} << 20, kMostRatio = 1000;  // deflate packs no tighter
  std::string bytes;
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) data_fail("{}: zlib has no memory", excerpt(path));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  int state = Z_OK;
  while (state == Z_OK && bytes.size() <= std::max(kFree, kMostRatio * packed.size())) {
    const size_t before = bytes.size();
    bytes.resize(std::max<size_t>(2 * before, 4096));
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + before);
    stream.avail_out = static_cast<uInt>(std::min<size_t>(bytes.size() - before, UINT32_MAX));
    const uInt room = stream.avail_out;
    state = inflate(&stream, Z_NO_FLUSH);
    bytes.resize(before + room - stream.avail_out);
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END) data_fail("{}: a MAT-file with damaged compressed data", excerpt(path));
  return bytes;
}

/// Absent for what is no real matrix of numbers.
std::optional<MatArray> matrix_in(const std::string& path, std::string_view bytes) {
  Elements parts(path, bytes);
  const std::vector<uint32_t> flags = numbers<uint32_t>(parts.next());
  const std::vector<int64_t> extents = numbers<int64_t>(parts.next());
  MatArray array;
  array.name = parts.next().bytes;
  const uint32_t type = flags.empty() ? 0 : flags[0] & 0xff;
  constexpr uint32_t kComplex = 0x0800;
  if (type < kSparse || type > kLast || extents.size() != 2 || (flags[0] & kComplex) != 0) return {};
  array.rows = extents[0];
  array.cols = extents[1];
  array.sparse = type == kSparse;
  const auto damaged = [&] { data_fail("{}: {}: a damaged matrix", excerpt(path), excerpt(array.name)); };
  if (array.sparse) {
    array.ir = numbers<int64_t>(parts.next());
    array.jc = numbers<int64_t>(parts.next());
  }
  array.values = numbers<double>(parts.next());
  const auto values = std::ssize(array.values);
  if (array.rows < 0 || array.cols < 0) damaged();
  if (!array.sparse &&
      (array.cols == 0 ? values != 0 : values % array.cols != 0 || values / array.cols != array.rows))
    damaged();
  if (!array.sparse) return array;
  if (std::ssize(array.jc) != array.cols + 1 || array.jc[0] != 0 ||
      !std::is_sorted(array.jc.begin(), array.jc.end()) || array.jc.back() > values ||
      array.jc.back() > std::ssize(array.ir))
    damaged();
  for (int64_t k = 0; k < array.jc.back(); ++k)
    if (array.ir[static_cast<size_t>(k)] < 0 || array.ir[static_cast<size_t>(k)] >= array.rows) damaged();
  return array;
}

}  // namespace

std::vector<MatArray> read_mat_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!file.starts_with(kMatMark) || file.size() < kHead)
    data_fail("{}: no MAT-file, version 5", excerpt(path));
  if (file.substr(126, 2) != "IM")
    data_fail(
        "{}: a MAT-file of other byte order, expected little-endian (scipy.io.loadmat and savemat convert "
        "it)",
        excerpt(path));
  std::vector<MatArray> arrays;
  for (Elements elements(path, std::string_view(file).substr(kHead)); elements.more();) {
    Element element = elements.next();
    std::string unpacked;
    if (element.kind == kCompressed) {
      unpacked = inflated(path, element.bytes);
      element = Elements(path, unpacked).next();
    }
    if (element.kind != kMatrix) continue;
    if (auto array = matrix_in(path, element.bytes)) arrays.push_back(std::move(*array));
  }
  return arrays;
}

}  // namespace adj::detail
