#pragma once

#include <adjoint/kernels/cuda/rows.cuh>
#include <adjoint/kernels/loss/loss.h>

namespace adj::kernels::cuda {

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
