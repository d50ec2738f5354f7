// One pass over the operands.
#include <adjoint/kernels/array/choose.h>
#include <adjoint/kernels/cuda/launch.cuh>

namespace adj::kernels::cuda {

namespace {

template <Comparison C, class T>
struct Compare {
  const T *a, *b;
  uint8_t* y;
  __device__ void operator()(int64_t i) const { y[i] = ComparisonFunction<C>()(widen(a[i]), widen(b[i])); }
};

template <class T>
struct Choose {
  const uint8_t* condition;
  const T *a, *b;
  T* y;
  __device__ void operator()(int64_t i) const {
    const T* chosen = condition[i] != 0 ? a : b;
    y[i] = chosen != nullptr ? chosen[i] : T{};
  }
};

}  // namespace

void compare(const CompareArgs& args) {
  dispatch_features(args.a.dtype(), [&]<class T>() {
    dispatch_comparison(args.comparison, [&]<Comparison C>() {
      for_each("compare", args.a.device().index, args.a.numel(),
               Compare<C, T>{args.a.data<T>(), args.b.data<T>(), args.y.mutable_data<uint8_t>()});
    });
  });
}

void choose(const ChooseArgs& args) {
  dispatch_features(args.y.dtype(), [&]<class T>() {
    for_each("choose", args.y.device().index, args.y.numel(),
             Choose<T>{args.condition.data<uint8_t>(), args.a ? args.a.data<T>() : nullptr,
                       args.b ? args.b.data<T>() : nullptr, args.y.mutable_data<T>()});
  });
}

}  // namespace adj::kernels::cuda
