#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/words.h>

namespace adj::kernels::cuda {

namespace {

template <class T>
struct Scale {
  T alpha;
  __device__ T operator()(T a) const { return alpha * a; }
};

template <class T>
struct LinearCombination {
  T alpha, beta;
  __device__ T operator()(T a, T b) const { return alpha * a + beta * b; }
};

template <class T>
struct MultiplyScalar {
  const T* factor;
  __device__ T operator()(T a) const { return a * *factor; }
};

// N divides the width, so a pack lies in one row.
template <int N, class Index, class S>
struct AddBias {
  Index packs_per_row;
  const S *x, *bias;
  S* y;

  __device__ void operator()(Index i) const {
    Pack<Accumulator<S>, N> pack = load_wide<N>(x + static_cast<int64_t>(i) * N);
    const auto shift = load_wide<N>(bias + static_cast<int64_t>(i % packs_per_row) * N);
#pragma unroll
    for (int k = 0; k < N; ++k) pack[k] += shift[k];
    store_narrow<N>(y + static_cast<int64_t>(i) * N, pack);
  }
};

template <int N, class Index, class S>
struct ScaleRows {
  Index packs_per_row;
  const S *x, *s;
  S* y;

  __device__ void operator()(Index i) const {
    Pack<Accumulator<S>, N> pack = load_wide<N>(x + static_cast<int64_t>(i) * N);
    const Accumulator<S> factor = widen(s[i / packs_per_row]);
#pragma unroll
    for (int k = 0; k < N; ++k) pack[k] *= factor;
    store_narrow<N>(y + static_cast<int64_t>(i) * N, pack);
  }
};

/// Runs Body<N, Index, S>{packs per row, x, other, y} for every pack of x.
template <template <int, class, class> class Body, class S>
void for_each_pack(const char* name, const Tensor& x, bool aligned, const S* other, Tensor& y) {
  const int64_t width = x.size(1);
  const S* in = x.data<S>();
  S* out = y.mutable_data<S>();
  dispatch_pack<S>(width, aligned && aligned_to_16(in, out), [&]<int N>() {
    for_each_narrow(name, x.device().index, x.numel() / N, [&]<class Index>() {
      return Body<N, Index, S>{static_cast<Index>(width / N), in, other, out};
    });
  });
}

template <class T>
void permute_as(const Tensor& x, const Tensor& order, Tensor& y) {
  const T* in = static_cast<const T*>(x.raw_data());
  const int32_t* source = order.data<int32_t>();
  T* out = static_cast<T*>(y.raw_mutable_data());
  for_each("permute", x.device().index, y.numel(), [=] __device__(int64_t k) { out[k] = in[source[k]]; });
}

// Broadcasting rereads an operand for each repetition, from the cache after the first time, and writes y
// once: bytes moved are those of y and of the operands as stored.

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

void linear_combination(const LinearCombinationArgs& args) {
  const int device = args.a.device().index;
  dispatch_features(args.a.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    if (args.b) {
      const LinearCombination<T> combine{static_cast<T>(args.alpha), static_cast<T>(args.beta)};
      map("linear_combination", device, args.a.numel(), combine, args.y.mutable_data<S>(), args.a.data<S>(),
          args.b.data<S>());
    } else {
      map("linear_combination", device, args.a.numel(), Scale<T>{static_cast<T>(args.alpha)},
          args.y.mutable_data<S>(), args.a.data<S>());
    }
  });
}

void multiply_scalar(const MultiplyScalarArgs& args) {
  dispatch_features(args.a.dtype(), [&]<class S>() {
    map("multiply_scalar", args.a.device().index, args.a.numel(),
        MultiplyScalar<Accumulator<S>>{args.s.data<Accumulator<S>>()}, args.y.mutable_data<S>(),
        args.a.data<S>());
  });
}

void add_bias(const AddBiasArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const S* bias = args.bias.data<S>();
    for_each_pack<AddBias>("add_bias", args.x, aligned_to_16(bias), bias, args.y);
  });
}

void scale_rows(const ScaleRowsArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    for_each_pack<ScaleRows>("scale_rows", args.x, true, args.s.data<S>(), args.y);
  });
}

void permute(const PermuteArgs& args) {
  detail::dispatch_word(args.x.dtype(), [&]<class Word>() { permute_as<Word>(args.x, args.order, args.y); });
}

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
