#pragma once

#include <adjoint/core/tensor.h>
#include <adjoint/data/import/detail/npy_header.h>

#include <memory>

namespace adj {

/// The elements of an array of numpy's (bools, integers and floats of 16, 32 and 64 bits), as they come in
/// the file, made numbers of a tensor.
class NpyValues {
 public:
  /// `to` has the header's shape and is u8, i32, i64, f32 or f64; both outlive this.
  NpyValues(const NpyHeader& header, Tensor& to);
  /// The next `bytes` of them, whole elements. Throws DataError where one does not fit the tensor's dtype:
  /// "300 at row 3, column 1, expected integers from 0 to 255".
  void take(const char* from, size_t bytes);

 private:
  /// Where elements go, which come in Fortran's order: their places in row-major order.
  class Places {
   public:
    explicit Places(const std::vector<int64_t>& shape);
    int64_t next();

   private:
    std::vector<int64_t> shape_, at_, stride_;
    int64_t place_ = 0;
  };

  template <class T>
  void take_as(const char* from, size_t bytes);

  const NpyHeader& header_;
  Tensor& to_;
  Places places_;
  bool transposed_;
  int64_t at_ = 0;
};

/// Of a string's bytes, without the zeros that fill it up. Throws DataError for characters beyond ASCII in
/// unicode.
std::string npy_text(const NpyHeader& header, std::string_view bytes);

}  // namespace adj
