#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/elementwise/broadcast.h>

namespace adj::kernels::cpu {

namespace {

/// y = f(a, b) for operands with stride kA and kB (0 or 1) along a row. Parallel over elements, not rows:
/// there may be few of either.
template <int kA, int kB, class T, class F>
void along_rows(const BroadcastLayout& layout, const T* a, const T* b, T* y, F f) {
  const int64_t columns = layout.columns();
  parallel_for(layout.numel(), kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t position = begin; position < end;) {
      const int64_t row = position / columns, column = position - row * columns;
      const int64_t length = std::min(columns - column, end - position);
      int64_t in_a, in_b;
      layout.begin_of(row, in_a, in_b);
      const T *left = a + in_a + kA * column, *right = b + in_b + kB * column;
      T* output = y + position;
#pragma omp simd
      for (int64_t j = 0; j < length; ++j)
        output[j] = narrow<T>(f(widen(left[kA * j]), widen(right[kB * j])));
      position += length;
    }
  });
}

}  // namespace

void binary(const BinaryArgs& args) {
  const BroadcastLayout layout(args.y.shape(), args.a.shape(), args.b.shape());
  const bool moves_a = layout.stride[0][BroadcastLayout::kLast] != 0;
  const bool moves_b = layout.stride[1][BroadcastLayout::kLast] != 0;
  dispatch_features(args.y.dtype(), [&]<class T>() {
    const T *a = args.a.data<T>(), *b = args.b.data<T>();
    T* y = args.y.mutable_data<T>();
    dispatch_binary(args.op, [&]<Binary B>() {
      const BinaryFunction<B> f;
      if (moves_a && moves_b) return along_rows<1, 1>(layout, a, b, y, f);
      moves_a ? along_rows<1, 0>(layout, a, b, y, f) : along_rows<0, 1>(layout, a, b, y, f);
    });
  });
}

void expand(const ExpandArgs& args) {
  const BroadcastLayout layout(args.y.shape(), args.x.shape(), args.x.shape());
  dispatch_features(args.y.dtype(), [&]<class T>() {
    const T* x = args.x.data<T>();
    T* y = args.y.mutable_data<T>();
    const auto first = [](auto a, auto) { return a; };
    layout.stride[0][BroadcastLayout::kLast] != 0 ? along_rows<1, 1>(layout, x, x, y, first)
                                                  : along_rows<0, 0>(layout, x, x, y, first);
  });
}

}  // namespace adj::kernels::cpu
