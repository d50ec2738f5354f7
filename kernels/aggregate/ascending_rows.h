#pragma once

#include <adjoint/kernels/aggregate/minmax_backward.h>

namespace adj::kernels {

/// Whether the rows must be sorted first, so that parallel entries are adjacent.
inline bool parallel_entries_apart(const NeighborMinmaxBackwardArgs& args) {
  return args.transposed != nullptr && !args.transposed->ascending && !args.weight;
}

/// The structure with sorted rows, so that parallel entries are adjacent. Transposes twice with `transpose`
/// of the device.
template <class Transposition>
Csr with_ascending_rows(const Csr& a, Transposition transpose) {
  const auto turned = [&](const Csr& from) {
    Csr to;
    to.rows = from.cols;
    to.cols = from.rows;
    to.offsets = Tensor::empty({to.rows + 1}, DType::i64, from.device());
    to.indices = Tensor::empty_like(from.indices);
    Tensor order = Tensor::empty_like(from.indices);
    transpose(TransposeArgs{.a = from, .offsets = to.offsets, .indices = to.indices, .order = order});
    return to;
  };
  return turned(turned(a));
}

}  // namespace adj::kernels
