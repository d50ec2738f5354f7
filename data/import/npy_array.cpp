#include <adjoint/core/convert.h>
#include <adjoint/core/detail/half.h>
#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/shape_text.h>
#include <adjoint/data/import/detail/npy_array.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace adj {

namespace {

constexpr int64_t kMostElements = std::numeric_limits<int64_t>::max();
constexpr size_t kMostExtents = 64;  // numpy's own limit

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  NpyHeader parse() {
    std::optional<std::string> type;
    std::optional<bool> fortran_order;
    std::optional<std::vector<int64_t>> shape;
    const auto once = [](auto& value, const char* key, auto parsed) {
      if (value) data_fail("the key '{}' twice in the array's header", key);
      value = std::move(parsed);
    };
    expect('{');
    while (!take('}')) {
      const std::string key(string());
      expect(':');
      if (key == "descr") {
        once(type, "descr", parse_type());
      } else if (key == "fortran_order") {
        once(fortran_order, "fortran_order", parse_bool());
      } else if (key == "shape") {
        once(shape, "shape", parse_shape());
      } else {
        data_fail("the key '{}' in the array's header, expected descr, fortran_order and shape",
                  excerpt(key));
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (position_ != text_.size()) malformed("the end");
    if (!type || !fortran_order || !shape)
      data_fail("no '{}' in the array's header", !type            ? "descr"
                                                 : !fortran_order ? "fortran_order"
                                                                  : "shape");
    NpyHeader header;
    header.fortran_order = *fortran_order;
    header.shape = *std::move(shape);
    set_type(header, *type);
    check_size(header);
    return header;
  }

 private:
  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
  }

  bool take(char wanted) {
    skip_space();
    if (position_ == text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }

  bool take_word(std::string_view wanted) {
    skip_space();
    if (!text_.substr(position_).starts_with(wanted)) return false;
    position_ += wanted.size();
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) malformed(fmt::format("'{}'", wanted));
  }

  [[noreturn]] void malformed(const std::string& expected) const {
    if (position_ >= text_.size()) data_fail("the array's header ends where {} is expected", expected);
    data_fail("the array's header has \"{}\" at byte {}, expected {}", excerpt(text_.substr(position_, 20)),
              position_, expected);
  }

  /// In single or double quotes, without escapes.
  std::string_view string() {
    skip_space();
    const char quote = position_ < text_.size() ? text_[position_] : ' ';
    const size_t end =
        quote == '\'' || quote == '"' ? text_.find(quote, position_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) malformed("a string");
    const std::string_view inner = text_.substr(position_ + 1, end - position_ - 1);
    if (inner.find('\\') != std::string_view::npos) malformed("a string without escapes");
    position_ = end + 1;
    return inner;
  }

  bool parse_bool() {
    if (take_word("True")) return true;
    if (take_word("False")) return false;
    malformed("True or False");
  }

  /// The name of a type; for a record, whose fields are a list, "record".
  std::string parse_type() {
    skip_space();
    if (position_ < text_.size() && (text_[position_] == '\'' || text_[position_] == '"'))
      return std::string(string());
    if (!take('[')) malformed("a type");
    for (size_t depth = 1; depth > 0;) {
      skip_space();
      if (position_ == text_.size()) malformed("']'");
      const char c = text_[position_];
      if (c == '\'' || c == '"') {
        (void)string();
        continue;
      }
      if (c == '[' || c == '(') ++depth;
      if (c == ']' || c == ')') --depth;
      ++position_;
    }
    return "record";
  }

  std::vector<int64_t> parse_shape() {
    std::vector<int64_t> shape;
    expect('(');
    while (!take(')')) {
      shape.push_back(extent());
      if (shape.size() > kMostExtents) data_fail("more than {} dimensions", kMostExtents);
      if (take(',')) continue;
      if (shape.size() == 1) malformed("','");  // (3) is not a tuple
      expect(')');
      break;
    }
    return shape;
  }

  int64_t extent() {
    skip_space();
    const size_t begin = position_;
    int64_t value = 0;
    for (; position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9'; ++position_) {
      const int64_t digit = text_[position_] - '0';
      if (value > (kMostElements - digit) / 10) data_fail("an extent beyond int64 in the array's shape");
      value = 10 * value + digit;
    }
    if (position_ == begin) malformed("an extent of 0 or more");
    if (position_ < text_.size() && text_[position_] == 'L') ++position_;  // Python 2 long integers
    return value;
  }

  static void set_type(NpyHeader& header, const std::string& type) {
    header.type = type;
    if (type == "record" || type.size() < 2) return;
    const char order = type[0], kind = type[1];
    if (order != '<' && order != '>' && order != '|' && order != '=') return;
    header.swapped = order == (std::endian::native == std::endian::little ? '>' : '<');
    if (kind == 'O') header.kind = NpyKind::object;
    int64_t width = 0;
    for (size_t k = 2; k < type.size(); ++k) {
      if (type[k] < '0' || type[k] > '9' || width > (int64_t{1} << 31)) return;
      width = 10 * width + (type[k] - '0');
    }
    if (type.size() == 2) return;
    const auto is = [&](std::initializer_list<int64_t> widths) {
      return std::find(widths.begin(), widths.end(), width) != widths.end() && (order != '|' || width == 1);
    };
    if (kind == 'b' && is({1})) header.kind = NpyKind::boolean;
    if (kind == 'i' && is({1, 2, 4, 8})) header.kind = NpyKind::integer;
    if (kind == 'u' && is({1, 2, 4, 8})) header.kind = NpyKind::unsigned_integer;
    if (kind == 'f' && is({2, 4, 8})) header.kind = NpyKind::floating;
    if (kind == 'S') header.kind = NpyKind::bytes;
    if (kind == 'U') header.kind = NpyKind::unicode;
    header.width = static_cast<size_t>(kind == 'U' ? 4 * width : width);
  }

  /// With a zero extent there are no bytes, but the product of the other extents must still fit, since
  /// strides are computed from it.
  static void check_size(const NpyHeader& header) {
    int64_t bytes = std::max<int64_t>(1, static_cast<int64_t>(header.width));
    for (int64_t extent : header.shape) {
      if (extent > 0 && bytes > kMostElements / extent)
        data_fail("shape ({}), expected a size within int64", fmt::join(header.shape, ", "));
      bytes *= std::max<int64_t>(1, extent);
    }
  }

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace

int64_t NpyHeader::numel() const {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

NpyHeader parse_npy_header(std::string_view text) { return Parser(text).parse(); }

NpyText npy_text_place(std::string_view preamble) {
  if (preamble.size() < kNpyPreamble || !preamble.starts_with(kNpyMark))
    data_fail("not a NumPy array (.npy)");
  const int version = static_cast<unsigned char>(preamble[6]);
  if (version < 1 || version > 3) data_fail("version {} of NumPy's format, expected 1 to 3", version);
  const auto byte = [&](size_t k) { return size_t{static_cast<unsigned char>(preamble[k])}; };
  const size_t begin = version == 1 ? 10 : 12;
  const size_t length =
      version == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > kNpyLongestText)
    data_fail("a header of {} bytes, expected at most {}", length, kNpyLongestText);
  if (begin + length < kNpyPreamble) data_fail("a header of {} bytes, too short", length);
  return {begin, length};
}

namespace {

/// Storage type of a 16-bit float.
struct Half {
  uint16_t bits;
};
struct Bool {
  uint8_t byte;
};

template <class S>
S load(const char* source, bool swapped) {
  std::array<char, sizeof(S)> bytes;
  std::memcpy(bytes.data(), source, sizeof(S));
  if (swapped) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<S>(bytes);
}

/// Converts `value` to T; false if it does not fit.
template <class T, class S>
bool converts(S value, T* result) {
  if constexpr (std::is_same_v<S, Half>) {
    return converts(detail::from_half(value.bits), result);
  } else if constexpr (std::is_same_v<S, Bool>) {
    *result = static_cast<T>(value.byte);
    return value.byte <= 1;
  } else if constexpr (std::is_floating_point_v<T>) {
    *result = static_cast<T>(value);
    if constexpr (std::is_same_v<S, double> && std::is_same_v<T, float>)
      return std::isfinite(*result) || !std::isfinite(value);
    return true;
  } else if constexpr (std::is_floating_point_v<S>) {
    return false;
  } else {
    *result = static_cast<T>(value);
    return std::in_range<T>(value);
  }
}

template <class S>
std::string number_text(S value) {
  if constexpr (std::is_same_v<S, Half>) return fmt::format("{}", detail::from_half(value.bits));
  if constexpr (std::is_same_v<S, Bool>) return fmt::format("{}", value.byte);
  if constexpr (std::is_arithmetic_v<S>) return fmt::format("{}", value);
}

/// Calls f.template operator()<S>() with the type of this width, 1, 2, 4 or 8 bytes.
template <class One, class Two, class Four, class Eight, class F>
void dispatch_width(size_t width, F&& f) {
  if (width == 1) return f.template operator()<One>();
  if (width == 2) return f.template operator()<Two>();
  if (width == 4) return f.template operator()<Four>();
  return f.template operator()<Eight>();
}
/// The same with the storage type of the array's elements.
template <class F>
void dispatch(const NpyHeader& header, F&& f) {
  const size_t width = header.width;
  if (header.kind == NpyKind::integer) return dispatch_width<int8_t, int16_t, int32_t, int64_t>(width, f);
  if (header.kind == NpyKind::unsigned_integer)
    return dispatch_width<uint8_t, uint16_t, uint32_t, uint64_t>(width, f);
  return dispatch_width<Bool, Half, float, double>(width, f);  // a boolean has one byte, no float has
}

std::string expected_text(DType as) {
  if (as == DType::u8) return "integers from 0 to 255";
  if (is_floating(as)) return fmt::format("numbers within {}", name_of(as));
  return fmt::format("integers within {}", name_of(as));
}

}  // namespace

NpyValues::Places::Places(const std::vector<int64_t>& shape)
    : shape_(shape), index_(shape.size()), stride_(shape.size(), 1) {
  for (size_t d = shape_.size(); d-- > 1;) stride_[d - 1] = stride_[d] * std::max<int64_t>(1, shape_[d]);
}

int64_t NpyValues::Places::next() {
  const int64_t place = place_;
  for (size_t d = 0; d < shape_.size(); ++d) {
    place_ += stride_[d];
    if (++index_[d] < shape_[d]) break;
    place_ -= stride_[d] * shape_[d];
    index_[d] = 0;
  }
  return place;
}

NpyValues::NpyValues(const NpyHeader& header, Tensor& target)
    : header_(header),
      target_(target),
      places_(header.shape),
      transposed_(header.fortran_order && header.shape.size() > 1),
      rounding_(header.shape.size() == 2 ? static_cast<size_t>(std::max<int64_t>(header.shape[1], 1)) : 1) {}

void NpyValues::take(const char* data, size_t bytes) {
  const auto take_as = [&]<class T, class S>() {
    T* const target = target_.mutable_data<T>();
    const size_t columns = rounding_.size();
    for (const char *next = data, *end = data + bytes; next < end; next += sizeof(S), ++position_) {
      const S value = load<S>(next, header_.swapped);
      const int64_t place = transposed_ ? places_.next() : position_;
      if (!converts(value, target + place)) [[unlikely]]
        data_fail("{} at {}, expected {}", number_text(value), detail::place_text(header_.shape, place),
                  std::is_same_v<S, Bool> ? "bools, 0 or 1" : expected_text(target_.dtype()));
      if constexpr (std::is_same_v<T, float> && sizeof(S) >= 4 && std::is_arithmetic_v<S> &&
                    !std::is_same_v<S, float>)
        rounding_[columns == 1 ? 0 : static_cast<size_t>(place) % columns].add_value(value, target[place]);
    }
  };
  dispatch_all(target_.dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, bfloat16>)
      dispatch(header_, [&]<class S>() { take_as.template operator()<T, S>(); });
  });
}

std::string npy_text(const NpyHeader& header, std::string_view bytes) {
  std::string text;
  if (header.kind != NpyKind::unicode) text = bytes;
  for (size_t k = 0; header.kind == NpyKind::unicode && k + 4 <= bytes.size(); k += 4) {
    const auto character = load<uint32_t>(bytes.data() + k, header.swapped);
    if (character >= 0x80) throw DataError("a character beyond ASCII in a string");
    text.push_back(static_cast<char>(character));
  }
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

}  // namespace adj
