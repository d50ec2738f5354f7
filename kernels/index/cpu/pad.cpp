#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/index/pad.h>

namespace adj::kernels::cpu {

namespace {

template <class T>
void pad(const Padded& array) {
  Tensor target = array.y;
  const int64_t front = array.x.numel();
  const T* x = array.x.data<T>();
  T* y = target.mutable_data<T>();
  for_each_index(target.numel(), kGrain, [=, rest = array.rest](int64_t i) {
    y[i] = i < front ? x[i] : static_cast<T>(rest(i - front));
  });
}

}  // namespace

void pad_arrays(const PadArraysArgs& args) {
  for (const Padded& array : args.arrays) {
    if (array.x.dtype() == DType::i32) pad<int32_t>(array);
    if (array.x.dtype() == DType::i64) pad<int64_t>(array);
    if (array.x.dtype() == DType::f32) pad<float>(array);
  }
}

}  // namespace adj::kernels::cpu
