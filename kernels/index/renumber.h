#pragma once

#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels {

/// Inverse of an index: number[index[k]] = k for `index` int32 [K] in [-1, N), skipping -1; -1 for values not
/// in `index`; `number` int32 [N]. For a permutation it is the inverse permutation. Of duplicates the first
/// counts, and `repeated` (one int64) is the smallest k that repeats an earlier one (K if there is none).
struct RenumberArgs {
  const Tensor& index;
  Tensor& number;
  Tensor& repeated;

  Device device() const { return index.device(); }
  void check(std::string_view op) const {
    check_index(op, {{"index", index}, {"number", number}}, index.device());
    check_scalar(op, "repeated", repeated, DType::i64, index.device());
  }
};
ADJ_KERNEL(renumber, RenumberArgs)

/// Position of each of [0, limit) in `ids`, int32 [limit]: -1 if absent.
inline Tensor inverse_of(const Tensor& ids, int64_t limit) {
  Tensor number = Tensor::empty({limit}, DType::i32, ids.device()),
         repeated = Tensor::empty({}, DType::i64, ids.device());
  renumber({.index = ids, .number = number, .repeated = repeated});
  return number;
}

/// entry[k] = the first entry (row[k], col[k]) of the structure, or -1 if there is none; all int32 [K], rows
/// and columns in range.
struct FindEntriesArgs {
  const Csr& csr;
  const Tensor& row;
  const Tensor& col;
  Tensor& entry;

  Device device() const { return csr.device(); }
  void check(std::string_view op) const {
    check_csr(op, csr);
    ADJ_CHECK(csr.ascending, "{}: the structure's rows do not ascend, expected ascending ones", op);
    check_index(op, "row", row, csr.device());
    check_like(op, {{"col", col}, {"entry", entry}}, row);
  }
};
ADJ_KERNEL(find_entries, FindEntriesArgs)

}  // namespace adj::kernels
