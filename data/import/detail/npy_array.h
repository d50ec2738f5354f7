#pragma once

#include <adjoint/core/tensor.h>
#include <adjoint/data/import/rounding.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// Element kind of a numpy array. `other`: complex numbers, dates, records and the like.
enum class NpyKind : uint8_t { boolean, integer, unsigned_integer, floating, bytes, unicode, object, other };

/// Header of an array in numpy's format, versions 1 to 3 (numpy/lib/format.py).
struct NpyHeader {
  std::string type;  ///< as in the file ("<f4", "|O"), or a description if it has no such name
  NpyKind kind = NpyKind::other;
  size_t width = 0;            ///< bytes per element; for bytes and unicode per string
  bool swapped = false;        ///< byte order differs from this machine's
  bool fortran_order = false;  ///< the first index varies fastest
  std::vector<int64_t> shape;

  int64_t numel() const;  ///< the parser ensures that it and the bytes fit int64
};

/// Parses a header's text, a Python dictionary `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`
/// padded with spaces. No Python is run: exactly these three keys, literals only. Throws DataError whose
/// message is the problem.
NpyHeader parse_npy_header(std::string_view text);

/// Where a header's text is in an array file, and how long it is, by the file's first kNpyPreamble bytes.
/// Throws DataError whose message is the problem.
struct NpyText {
  size_t begin = 0, length = 0;
};
NpyText npy_text_place(std::string_view preamble);

/// Magic string of an array file.
constexpr std::string_view kNpyMark("\x93NUMPY", 6);
/// Bytes before the text: magic, version and text length.
constexpr size_t kNpyPreamble = 12;  // 10 for version 1
/// Maximum text length. numpy's own are 118 bytes, except for records with many fields.
constexpr size_t kNpyLongestText = size_t{64} << 10;

/// Converts the elements of a numpy array (bools, integers and floats of 16, 32 and 64 bits) from the file's
/// byte stream to a tensor.
class NpyValues {
 public:
  /// `target` has the header's shape and dtype u8, i32, i64, f32 or f64; both must outlive this.
  NpyValues(const NpyHeader& header, Tensor& target);
  /// Converts the next `bytes`, a multiple of the element size. Throws DataError for an element that does not
  /// fit the tensor's dtype: "300 at row 3, column 1, expected integers from 0 to 255".
  void take(const char* data, size_t bytes);
  Rounding rounding() const { return Rounding::total(rounding_); }  ///< of a float32 tensor

 private:
  /// Row-major positions of elements that come in Fortran order.
  class Places {
   public:
    explicit Places(const std::vector<int64_t>& shape);
    int64_t next();

   private:
    std::vector<int64_t> shape_, index_, stride_;
    int64_t place_ = 0;
  };

  const NpyHeader& header_;
  Tensor& target_;
  Places places_;
  bool transposed_;
  int64_t position_ = 0;
  std::vector<Rounding> rounding_;  // by column
};

/// A string element without zero padding. Throws DataError for non-ASCII characters in unicode.
std::string npy_text(const NpyHeader& header, std::string_view bytes);

}  // namespace adj
