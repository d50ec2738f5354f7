#pragma once

#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels {

/// Throws, naming the kernel `op`, unless the structure's shapes, dtypes and devices are consistent. Contents
/// are not checked.
inline void check_coo(std::string_view op, const Coo& a) {
  ADJ_CHECK(a.rows >= 0 && a.cols >= 0 && a.rows <= kMaxEntries && a.cols <= kMaxEntries,
            "{}: expected fewer than 2^31 rows and columns, got [{}, {}]", op, a.rows, a.cols);
  check_index(op, "row", a.row, a.device());
  check_tensor(op, "col", a.col, a.row.shape(), DType::i32, a.device());
  ADJ_CHECK(a.entries() <= kMaxEntries, "{}: expected fewer than 2^31 entries, got {}", op, a.entries());
  ADJ_CHECK(a.loops == 0 || (a.loops == a.rows && a.rows == a.cols && a.loops <= a.entries()),
            "{}: {} loops at the end of {} entries of [{}, {}], expected none or one for each row of a "
            "square structure",
            op, a.loops, a.entries(), a.rows, a.cols);
}

}  // namespace adj::kernels
