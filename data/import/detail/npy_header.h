#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// What the elements of an array of numpy's are. `other`: complex numbers, dates, records and the like.
enum class NpyKind : uint8_t { boolean, integer, unsigned_integer, floating, bytes, unicode, object, other };

/// The header of an array in numpy's format, versions 1 to 3 (numpy/lib/format.py).
struct NpyHeader {
  std::string type;  ///< as the file has it ("<f4", "|O"), or what it is where it has no such name
  NpyKind kind = NpyKind::other;
  size_t width = 0;            ///< bytes of an element; of bytes and unicode those of a whole string
  bool swapped = false;        ///< in the other byte order than this machine's
  bool fortran_order = false;  ///< the first index runs fastest
  std::vector<int64_t> shape;

  int64_t numel() const;  ///< the parser has seen that it and the bytes fit int64
};

/// Of a header's text, a Python dictionary `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }` and
/// spaces. Nothing of Python runs: these three keys once each, literals alone. Throws DataError, the message
/// being what is wrong.
NpyHeader parse_npy_header(std::string_view text);

/// With which an array's file begins.
constexpr std::string_view kNpyMark("\x93NUMPY", 6);
/// What stands before the text: the mark, the version and the text's length.
constexpr size_t kNpyPreamble = 12;  // of version 1: 10
/// The longest text that is read. numpy's own are of 118 bytes, but for records of many fields.
constexpr size_t kNpyLongestText = size_t{64} << 10;

}  // namespace adj
