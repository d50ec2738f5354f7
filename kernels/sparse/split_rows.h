#pragma once

#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels {

/// Types that the rows of split_rows may have, loops' included.
inline constexpr int64_t kMostSplitTypes = 64;

/// Splits each row of `a` by the type of its entries, `type` int32 [M] in [0, types) by edge number (entry e
/// is edge order[e], or e): row i * width + t of the result has the entries of row i and type t, in their
/// order; width is `types`, and with `loops` one more, whose rows i * width + types have the entry i alone.
/// offsets int64 [rows * width + 1], indices int32 [M], or with loops [M + rows]. A type out of range throws
/// on a CPU; on a GPU the next read from it throws.
struct SplitRowsArgs {
  const Csr& a;
  const Tensor& type;
  const Tensor& order = kAbsent;
  int64_t types;
  bool loops;
  Tensor& offsets;
  Tensor& indices;

  int64_t width() const { return types + (loops ? 1 : 0); }  ///< rows made of one
  Device device() const { return a.device(); }               ///< where the kernel runs
  void check(std::string_view op) const {
    check_csr(op, a);
    check_tensor(op, "type", type, {a.entries()}, DType::i32, a.device());
    if (order) check_tensor(op, "order", order, {a.entries()}, DType::i32, a.device());
    ADJ_CHECK(types >= 1 && width() <= kMostSplitTypes, "{}: {} types, expected 1 to {}{}", op, types,
              kMostSplitTypes - (loops ? 1 : 0), loops ? " beside loops" : "");
    ADJ_CHECK(!loops || a.rows <= a.cols, "{}: loops of {} rows among {} columns", op, a.rows, a.cols);
    ADJ_CHECK(a.rows * width() <= kMaxEntries, "{}: expected fewer than 2^31 rows, got {}", op,
              a.rows * width());
    check_tensor(op, "offsets", offsets, {a.rows * width() + 1}, DType::i64, a.device());
    check_tensor(op, "indices", indices, {a.entries() + (loops ? a.rows : 0)}, DType::i32, a.device());
  }
};
ADJ_KERNEL(split_rows, SplitRowsArgs)  ///< A row of each type instead of one.

}  // namespace adj::kernels
