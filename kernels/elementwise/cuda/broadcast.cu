// Broadcasting rereads an operand for each repetition, from the cache after the first time, and writes y
// once: bytes moved are those of y and of the operands as stored.
#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/elementwise/broadcast.h>

namespace adj::kernels::cuda {

namespace {

/// One tensor operand and one scalar, read on the device.
template <class T, class F, bool kScalarFirst>
struct OfOne {
  F f;
  const T* scalar;
  __device__ Accumulator<T> operator()(Accumulator<T> x) const {
    return kScalarFirst ? f(widen(*scalar), x) : f(x, widen(*scalar));
  }
};

struct First {
  template <class W>
  __device__ W operator()(W a, W) const {
    return a;
  }
};

template <class T>
struct Constant {
  const T* value;
  __device__ Accumulator<T> operator()() const { return widen(*value); }
};

template <int N, class T>
__device__ __forceinline__ Pack<Accumulator<T>, N> load_or_repeat(const T* row, int64_t column, bool moves) {
  if (moves) return load_wide<N>(row + column);
  Pack<Accumulator<T>, N> pack;
#pragma unroll
  for (int k = 0; k < N; ++k) pack[k] = widen(*row);
  return pack;
}

// N divides the columns, so a pack lies in one row.
template <int N, class Index, class T, class F>
struct Broadcast {
  Index packs_per_row;
  BroadcastLayout layout;
  F f;
  const T *a, *b;
  T* y;

  __device__ void operator()(Index i) const {
    const Index row = i / packs_per_row;
    const int64_t column = static_cast<int64_t>(i - row * packs_per_row) * N;
    int64_t in_a, in_b;
    layout.begin_of(static_cast<int64_t>(row), in_a, in_b);
    const auto left = load_or_repeat<N>(a + in_a, column, layout.stride[0][BroadcastLayout::kLast] != 0);
    const auto right = load_or_repeat<N>(b + in_b, column, layout.stride[1][BroadcastLayout::kLast] != 0);
    store_narrow<N>(y + static_cast<int64_t>(i) * N, map_pack<T, N>(f, left, right));
  }
};

template <class T, class F>
void along_rows(const char* name, int device, const BroadcastLayout& layout, const F& f, const T* a,
                const T* b, T* y) {
  const int64_t n = layout.numel(), columns = layout.columns();
  if (n == 0) return;
  dispatch_pack<T>(columns, aligned_to_16(a, b, y), [&]<int N>() {
    for_each_narrow(name, device, n / N, [&]<class Index>() {
      return Broadcast<N, Index, T, F>{static_cast<Index>(columns / N), layout, f, a, b, y};
    });
  });
}

}  // namespace

void binary(const BinaryArgs& args) {
  const BroadcastLayout layout(args.y.shape(), args.a.shape(), args.b.shape());
  const int device = args.y.device().index;
  const bool moves_a = layout.stride[0][BroadcastLayout::kLast] != 0;
  const bool moves_b = layout.stride[1][BroadcastLayout::kLast] != 0;
  dispatch_features(args.y.dtype(), [&]<class T>() {
    const T *a = args.a.data<T>(), *b = args.b.data<T>();
    T* y = args.y.mutable_data<T>();
    dispatch_binary(args.op, [&]<Binary B>() {
      using F = BinaryFunction<B>;
      const int64_t n = layout.numel();
      if (!layout.is_flat()) return along_rows("binary", device, layout, F{}, a, b, y);
      if (moves_a && moves_b) return map("binary", device, n, F{}, y, a, b);
      moves_a ? map("binary", device, n, OfOne<T, F, false>{{}, b}, y, a)
              : map("binary", device, n, OfOne<T, F, true>{{}, a}, y, b);
    });
  });
}

void expand(const ExpandArgs& args) {
  const BroadcastLayout layout(args.y.shape(), args.x.shape(), args.x.shape());
  const int device = args.y.device().index;
  dispatch_features(args.y.dtype(), [&]<class T>() {
    const T* x = args.x.data<T>();
    T* y = args.y.mutable_data<T>();
    if (layout.is_flat() && layout.stride[0][BroadcastLayout::kLast] == 0)
      return map("expand", device, layout.numel(), Constant<T>{x}, y);
    along_rows("expand", device, layout, First{}, x, x, y);
  });
}

}  // namespace adj::kernels::cuda
