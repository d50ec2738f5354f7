#pragma once

#include <adjoint/core/tensor.h>
#include <adjoint/data/import/detail/npy_header.h>

#include <memory>

namespace adj {

/// Converts the elements of a numpy array (bools, integers and floats of 16, 32 and 64 bits) from the file's
/// byte stream to a tensor.
class NpyValues {
 public:
  /// `target` has the header's shape and dtype u8, i32, i64, f32 or f64; both must outlive this.
  NpyValues(const NpyHeader& header, Tensor& target);
  /// Converts the next `bytes`, a multiple of the element size. Throws DataError for an element that does not
  /// fit the tensor's dtype: "300 at row 3, column 1, expected integers from 0 to 255".
  void take(const char* data, size_t bytes);
  int64_t rounded() const { return rounded_; }  ///< whole numbers that float32 does not hold

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
  int64_t position_ = 0, rounded_ = 0;
};

/// A string element without zero padding. Throws DataError for non-ASCII characters in unicode.
std::string npy_text(const NpyHeader& header, std::string_view bytes);

}  // namespace adj
