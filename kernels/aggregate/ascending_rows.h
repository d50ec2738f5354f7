#pragma once

#include <adjoint/kernels/aggregate/neighbor_backward.h>

namespace adj::kernels {

/// Whether the rows must be sorted first, so that parallel entries are adjacent.
inline bool parallel_entries_apart(const NeighborMinmaxBackwardArgs& args) {
  return args.transposed != nullptr && !args.transposed->ascending && !args.weight;
}

/// The structure with sorted rows, so that parallel entries are adjacent. Transposes twice with `transpose`
/// of the device.
template <class Transposition>
Csr with_ascending_rows(const Csr& a, Transposition transpose) {
  const auto turned = [&](const Csr& input) {
    Csr result;
    result.rows = input.cols;
    result.cols = input.rows;
    result.offsets = Tensor::empty({result.rows + 1}, DType::i64, input.device());
    result.indices = Tensor::empty_like(input.indices);
    Tensor order = Tensor::empty_like(input.indices);
    transpose(
        TransposeArgs{.a = input, .offsets = result.offsets, .indices = result.indices, .order = order});
    return result;
  };
  return turned(turned(a));
}

}  // namespace adj::kernels
