#pragma once

#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels {

/// entry[k] = the first entry (row[k], col[k]) of `csr`, whose rows must ascend, or -1 if there is none; all
/// int32 [K], rows and columns in range.
struct FindEntriesArgs {
  const Csr& csr;
  const Tensor& row;
  const Tensor& col;
  Tensor& entry;

  Device device() const { return csr.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    check_csr(op, csr);
    ADJ_CHECK(csr.ascending, "{}: columns within rows do not ascend, expected ascending ones", op);
    check_index(op, "row", row, csr.device());
    check_like(op, {{"col", col}, {"entry", entry}}, row);
  }
};
ADJ_KERNEL(find_entries, FindEntriesArgs)  ///< Finds entries by row and column.

}  // namespace adj::kernels
