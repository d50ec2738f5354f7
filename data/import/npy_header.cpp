#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/npy_header.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

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

}  // namespace adj
