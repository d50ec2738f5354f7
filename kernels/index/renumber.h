#pragma once

#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels {

/// The inverse of an index: number[index[k]] = k for `index` int32 [K] in [-1, N), -1 being passed over, and
/// -1 for what `index` does not hold; `number` int32 [N]. Of a permutation it is the inverse. Where something
/// stands twice, the first counts, and `repeated` (one int64) is the smallest k that repeats an earlier one
/// (K where none does).
struct RenumberArgs {
  const Tensor& index;
  Tensor& number;
  Tensor& repeated;

  Device device() const { return index.device(); }
  void check() const {
    check_index("renumber", "index", index, index.device());
    check_index("renumber", "number", number, index.device());
    check_scalar("renumber", "repeated", repeated, DType::i64, index.device());
  }
};
ADJ_KERNEL(renumber, RenumberArgs)

/// Where each of [0, limit) stands in `ids`, int32 [limit]: -1 for what does not.
inline Tensor inverse_of(const Tensor& ids, int64_t limit) {
  Tensor number = Tensor::empty({limit}, DType::i32, ids.device()),
         repeated = Tensor::empty({}, DType::i64, ids.device());
  renumber({.index = ids, .number = number, .repeated = repeated});
  return number;
}

/// entry[k] = the first entry (row[k], col[k]) of the structure, or -1 where it has none; all int32 [K], rows
/// and columns in range.
struct FindEntriesArgs {
  const Csr& csr;
  const Tensor& row;
  const Tensor& col;
  Tensor& entry;

  Device device() const { return csr.device(); }
  void check() const {
    check_csr("find_entries", csr);
    ADJ_CHECK(csr.ascending, "find_entries: the structure's rows do not ascend, expected ascending ones");
    check_index("find_entries", "row", row, csr.device());
    check_like("find_entries", "col", col, row);
    check_like("find_entries", "entry", entry, row);
  }
};
ADJ_KERNEL(find_entries, FindEntriesArgs)

}  // namespace adj::kernels
