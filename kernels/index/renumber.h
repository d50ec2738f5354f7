#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// Inverse of an index: number[index[k]] = k for `index` int32 [K] in [-1, N), skipping -1; -1 for values not
/// in `index`; `number` int32 [N]. For a permutation it is the inverse permutation. Of duplicates the first
/// counts, and `repeated` (one int64) is the smallest k that repeats an earlier one (K if there is none).
struct RenumberArgs {
  const Tensor& index;
  Tensor& number;
  Tensor& repeated;

  Device device() const { return index.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    check_index(op, {{"index", index}, {"number", number}}, index.device());
    check_scalar(op, "repeated", repeated, DType::i64, index.device());
  }
};
ADJ_KERNEL(renumber, RenumberArgs)  ///< Inverse of an index.

/// Position of each of [0, limit) in `ids`, int32 [limit]: -1 if absent.
inline Tensor inverse_of(const Tensor& ids, int64_t limit) {
  Tensor number = Tensor::empty({limit}, DType::i32, ids.device()),
         repeated = Tensor::empty({}, DType::i64, ids.device());
  renumber({.index = ids, .number = number, .repeated = repeated});
  return number;
}

}  // namespace adj::kernels
