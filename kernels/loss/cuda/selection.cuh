#pragma once

#include <adjoint/kernels/cuda/rows.cuh>

namespace adj::kernels::cuda {

/// The rows that a loss is taken over.
struct Selection {
  const int32_t* index;  // null: all rows
  int64_t count;

  __device__ int64_t row(int64_t k) const { return index != nullptr ? index[k] : k; }
};

inline Selection selection_of(const Tensor& x, const Tensor& index) {
  if (!index) return {nullptr, x.size(0)};
  return {index.data<int32_t>(), index.numel()};
}

template <class T>
struct Zero {
  __device__ T operator()() const { return T{}; }
};

/// Zeros where no row is selected; nothing to do where all are. By a kernel, for the next one can overlap
/// with it.
template <class S>
void clear_unselected(const char* name, const Selection& selection, Tensor& dx) {
  if (selection.index != nullptr)
    map(name, dx.device().index, dx.numel(), Zero<Wide<S>>{}, dx.mutable_data<S>());
}

}  // namespace adj::kernels::cuda
