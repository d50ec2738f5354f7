#include <adjoint/kernels/array/choose.h>
#include <adjoint/kernels/cpu/loops.h>

namespace adj::kernels::cpu {

void compare(const CompareArgs& args) {
  dispatch_features(args.a.dtype(), [&]<class T>() {
    const T *a = args.a.data<T>(), *b = args.b.data<T>();
    uint8_t* y = args.y.mutable_data<uint8_t>();
    dispatch_comparison(args.comparison, [&]<Comparison C>() {
      const ComparisonFunction<C> f;
      for_each_index(args.a.numel(), kGrain, [=](int64_t i) { y[i] = f(widen(a[i]), widen(b[i])); });
    });
  });
}

void choose(const ChooseArgs& args) {
  const uint8_t* condition = args.condition.data<uint8_t>();
  dispatch_features(args.y.dtype(), [&]<class T>() {
    const T *a = args.a ? args.a.data<T>() : nullptr, *b = args.b ? args.b.data<T>() : nullptr;
    T* y = args.y.mutable_data<T>();
    for_each_index(args.y.numel(), kGrain, [=](int64_t i) {
      const T* chosen = condition[i] != 0 ? a : b;
      y[i] = chosen != nullptr ? chosen[i] : T{};
    });
  });
}

}  // namespace adj::kernels::cpu
