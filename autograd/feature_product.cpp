#include <adjoint/autograd/detail/feature_product.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/dense/gemm.h>
#include <adjoint/kernels/elementwise/elementwise.h>

namespace adj::detail {

namespace {

/// f(rows, begin, end) for each unpacked block of rows of quantised features; the last may be shorter.
template <class F>
void for_blocks(const Features& x, DType dtype, F&& f) {
  const int64_t rows = x.rows(), step = rows_at_once(x.cols());
  for (int64_t begin = 0; begin < rows; begin += step) {
    const int64_t end = std::min(rows, begin + step);
    f(x.unpacked(begin, end, dtype), begin, end);  // released before the next block
  }
}

}  // namespace

void feature_product(const Features& x, const Tensor& w, const Tensor& bias, Activation activation,
                     Tensor& y) {
  if (x.is_sparse()) {
    kernels::spmm({.a = x.sparse().matrix(), .x = w, .bias = bias, .activation = activation, .y = y});
    return;
  }
  for_blocks(x, w.dtype(), [&](const Tensor& rows, int64_t begin, int64_t end) {
    Tensor part = y.rows(begin, end);
    kernels::gemm({.a = rows, .b = w, .bias = bias, .activation = activation, .c = part});
  });
}

Tensor feature_weight_gradient(const Features& x, const Tensor& dz) {
  const Shape shape{x.cols(), dz.size(1)};
  Tensor dw = Tensor::empty(shape, dz.dtype(), dz.device()), none;
  if (x.is_sparse()) {
    kernels::spmm({.a = x.sparse().adjoint(), .x = dz, .y = dw});
    return dw;
  }
  if (x.rows() == 0) dw.zero_();
  Tensor sum = dw;  // float32 for bfloat16; only each block's own sum is rounded
  for_blocks(x, dz.dtype(), [&](const Tensor& rows, int64_t begin, int64_t end) {
    const bool first = begin == 0;
    Tensor part = first ? dw : Tensor::empty(shape, dz.dtype(), dz.device());
    kernels::weight_gradients({.x = rows, .dz = dz.rows(begin, end), .dw = part, .dbias = none});
    if (first) {
      if (end < x.rows() && dz.dtype() == DType::bf16) sum = part.to(DType::f32);
      return;
    }
    kernels::linear_combination({.a = sum, .beta = 1.0, .b = part.to(sum.dtype()), .y = sum});
  });
  return sum.to(dz.dtype());
}

}  // namespace adj::detail
