#pragma once

#include <adjoint/kernels/kernel.h>

#include <span>

namespace adj::kernels {

namespace detail {

/// The parts are adjacent column blocks of `whole`.
inline void check_parts(std::string_view op, std::span<const Tensor> parts, const Tensor& whole) {
  ADJ_CHECK(whole && whole.dims() == 2 && whole.dtype() != DType::bits,
            "{}: y is {}, expected a matrix of other than bits", op, whole.str());
  int64_t columns = 0;
  for (const Tensor& part : parts) {
    ADJ_CHECK(part && part.dims() == 2, "{}: a part is {}, expected a matrix", op, part.str());
    check_tensor(op, "a part", part, {whole.size(0), part.size(1)}, whole.dtype(), whole.device());
    columns += part.size(1);
  }
  ADJ_CHECK(columns == whole.size(1), "{}: the parts have {} columns together, y is {}", op, columns,
            whole.str());
}

}  // namespace detail

/// y[K,F] = x[index[k], :], `index` int32 [K] in [0, N) (range-checked on the CPU; indices from files are
/// checked when read). Any dtype. Its gradient is a product with the transposed selection matrix (spmm.h).
struct GatherRowsArgs {
  const Tensor& x;
  const Tensor& index;
  Tensor& y;

  void check(std::string_view op) const {
    ADJ_CHECK(x && x.dims() == 2, "{}: x is {}, expected a matrix", op, x.str());
    check_index(op, "index", index, x.device());
    check_tensor(op, "y", y, {index.numel(), x.size(1)}, x.dtype(), x.device());
  }
};
ADJ_KERNEL(gather_rows, GatherRowsArgs)  ///< Rows by index.

/// y[K,F] = row index[k] of the `parts` [Np,F] under each other, as gather_rows() of one matrix. On a GPU
/// they may lie on several, whose memory that of `y` can read in place (DeviceRuntime::open_peer).
struct GatherPartsArgs {
  static constexpr size_t kMost = 64;  ///< parts
  std::span<const Tensor> parts;
  const Tensor& index;
  Tensor& y;

  void check(std::string_view op) const {
    ADJ_CHECK(!parts.empty() && parts.size() <= kMost, "{}: {} parts, expected 1 to {}", op, parts.size(),
              kMost);
    ADJ_CHECK(y && y.dims() == 2, "{}: y is {}, expected a matrix", op, y.str());
    for (const Tensor& part : parts)
      ADJ_CHECK(part && part.dims() == 2 && part.size(1) == y.size(1) && part.dtype() == y.dtype() &&
                    part.is_cuda() == y.is_cuda(),
                "{}: a part is {}, expected [*, {}] {} on {}", op, part.str(), y.size(1), name_of(y.dtype()),
                y.is_cuda() ? "a GPU" : "cpu");
    check_index(op, "index", index, y.device());
    check_tensor(op, "y", y, {index.numel(), y.size(1)}, y.dtype(), y.device());
  }
};
ADJ_KERNEL(gather_parts, GatherPartsArgs)  ///< Rows by index out of matrices under each other.

/// y[N, F0+F1+…] = the parts [N, Fk] concatenated by columns; one dtype, not bits.
struct ConcatColumnsArgs {
  std::span<const Tensor> parts;
  Tensor& y;

  void check(std::string_view op) const { detail::check_parts(op, parts, y); }
};
ADJ_KERNEL(concat_columns, ConcatColumnsArgs)  ///< Matrices side by side.

/// The inverse: each of `parts` [N, Fk] = its columns of y, which they cover in order.
struct SplitColumnsArgs {
  const Tensor& y;
  std::span<Tensor> parts;

  void check(std::string_view op) const { detail::check_parts(op, parts, y); }
};
ADJ_KERNEL(split_columns, SplitColumnsArgs)  ///< A matrix into adjacent column blocks.

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

/// y[N,L] = columns [begin, begin + L) of x[N,F], any dtype but bits.
struct SliceColumnsArgs {
  const Tensor& x;
  int64_t begin;
  Tensor& y;

  void check(std::string_view op) const { detail::check_slice(op, x, begin, y); }
};
ADJ_KERNEL(slice_columns, SliceColumnsArgs)  ///< Adjacent columns of a matrix.

/// Backward pass of slice_columns: y[N,F] = x[N,L] at columns [begin, begin + L), zeros elsewhere.
struct PadColumnsArgs {
  const Tensor& x;
  int64_t begin;
  Tensor& y;

  void check(std::string_view op) const { detail::check_slice(op, y, begin, x); }
};
ADJ_KERNEL(pad_columns, PadColumnsArgs)  ///< Columns in a wider matrix of zeros.

/// Rows that a device can read in place: in its own memory, or in page-locked host memory (core/pinned.h).
struct RowsInPlace {
  const void* data = nullptr;  ///< of the first row; null only without rows
  int64_t rows = 0;            ///< their number; they lie without gaps
  bool on_host = false;  ///< a GPU reads them over the bus, after listing the rows it needs (8 bytes each)
};

/// Gather with a hot-row cache on the device. y[K,F]: row k is row at[k] of `hot` [C,F] if at[k] >= 0, else
/// row -1 - at[k] of `cold`, whose rows have the same number of bytes. `at` int32 [K] (range-checked on the
/// CPU). Any dtype.
struct GatherCachedArgs {
  const Tensor& hot;
  RowsInPlace cold;
  const Tensor& at;
  Tensor& y;

  void check(std::string_view op) const {
    ADJ_CHECK(hot && hot.dims() == 2, "{}: hot is {}, expected a matrix", op, hot.str());
    ADJ_CHECK(cold.rows == 0 || cold.data != nullptr, "{}: no data for {} cold rows", op, cold.rows);
    check_index(op, "at", at, hot.device());
    check_tensor(op, "y", y, {at.numel(), hot.size(1)}, hot.dtype(), hot.device());
  }
};
ADJ_KERNEL(gather_cached, GatherCachedArgs)  ///< Rows by index from two stores.

}  // namespace adj::kernels
