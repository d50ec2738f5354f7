#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

namespace detail {

inline void check_slice(std::string_view op, const Tensor& whole, int64_t begin, const Tensor& slice) {
  ADJ_CHECK(whole && whole.dims() == 2 && whole.dtype() != DType::bits,
            "{}: the whole is {}, expected a matrix of other than bits", op, whole.str());
  ADJ_CHECK(slice && slice.dims() == 2, "{}: the slice is {}, expected a matrix", op, slice.str());
  check_tensor(op, "the slice", slice, {whole.size(0), slice.size(1)}, whole.dtype(), whole.device());
  ADJ_CHECK(begin >= 0 && begin + slice.size(1) <= whole.size(1), "{}: columns [{}, {}) of {}", op, begin,
            begin + slice.size(1), whole.str());
}

}  // namespace detail

/// y[N,L] = columns [begin, begin + L) of x[N,F], of any dtype but bits.
struct SliceColumnsArgs {
  const Tensor& x;
  int64_t begin;
  Tensor& y;

  Device device() const { return x.device(); }
  void check() const { detail::check_slice("slice_columns", x, begin, y); }
};
ADJ_KERNEL(slice_columns, SliceColumnsArgs)

/// y[N,F] = x[N,L] at columns [begin, begin + L), zeros elsewhere: its backward pass.
struct PadColumnsArgs {
  const Tensor& x;
  int64_t begin;
  Tensor& y;

  Device device() const { return y.device(); }
  void check() const { detail::check_slice("pad_columns", y, begin, x); }
};
ADJ_KERNEL(pad_columns, PadColumnsArgs)

}  // namespace adj::kernels
