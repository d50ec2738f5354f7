// A group of lanes holds a row in registers, so that each byte is read once: x forward, y and dy backward.
#include <adjoint/kernels/cuda/rows.cuh>
#include <adjoint/kernels/reduce/softmax.h>

namespace adj::kernels::cuda {

namespace {

template <bool kLog, class T>
struct Softmax {
  const T* x;
  int64_t width;
  T* y;

  template <int N, int kLanes, int kHeld>
  __device__ void row(int64_t row, int lane) const {
    using W = Accumulator<T>;
    const RowView<T, N, kLanes, kHeld> view(x, width, row, lane);
    W largest, total;
    soft_maximum(view, largest, total);
    if (row < 0) return;
    const W normalizer = kLog ? log(total) : W{1} / total;
    view.each([&](int64_t column, Pack<W, N> pack) {
#pragma unroll
      for (int k = 0; k < N; ++k) {
        const W above = pack[k] - largest;
        pack[k] = kLog ? above - normalizer : exp(above) * normalizer;
      }
      store_narrow<N>(y + row * width + column, pack);
    });
  }
};

template <bool kLog, class T>
struct SoftmaxBackward {
  const T *y, *dy;
  int64_t width;
  T* dx;

  template <int N, int kLanes, int kHeld>
  __device__ void row(int64_t row, int lane) const {
    using W = Accumulator<T>;
    const RowView<T, N, kLanes, kHeld> out(y, width, row, lane), gradient(dy, width, row, lane);
    W sum = 0;
    both(out, gradient, [&](int64_t, const Pack<W, N>& p, const Pack<W, N>& g) {
#pragma unroll
      for (int k = 0; k < N; ++k) sum += kLog ? g[k] : g[k] * p[k];
    });
    sum = sum_of_lanes<kLanes>(sum);
    if (row < 0) return;
    both(out, gradient, [&](int64_t column, const Pack<W, N>& p, Pack<W, N> g) {
#pragma unroll
      for (int k = 0; k < N; ++k) g[k] = kLog ? g[k] - exp(p[k]) * sum : p[k] * (g[k] - sum);
      store_narrow<N>(dx + row * width + column, g);
    });
  }
};

}  // namespace

void softmax(const SoftmaxArgs& args) {
  const int64_t rows = args.x.size(0), width = args.x.size(1);
  const int device = args.x.device().index;
  dispatch_features(args.x.dtype(), [&]<class T>() {
    const T* in = args.x.data<T>();
    T* out = args.y.mutable_data<T>();
    const bool aligned = aligned_to_16(in, static_cast<const T*>(out));
    args.log ? map_rows<T>("log_softmax", device, rows, width, aligned, Softmax<true, T>{in, width, out})
             : map_rows<T>("softmax", device, rows, width, aligned, Softmax<false, T>{in, width, out});
  });
}

void softmax_backward(const SoftmaxBackwardArgs& args) {
  const int64_t rows = args.y.size(0), width = args.y.size(1);
  const int device = args.y.device().index;
  dispatch_features(args.y.dtype(), [&]<class T>() {
    const T *y = args.y.data<T>(), *dy = args.dy.data<T>();
    T* dx = args.dx.mutable_data<T>();
    const bool aligned = aligned_to_16(y, dy, static_cast<const T*>(dx));
    args.log ? map_rows<T>("log_softmax_backward", device, rows, width, aligned,
                           SoftmaxBackward<true, T>{y, dy, width, dx})
             : map_rows<T>("softmax_backward", device, rows, width, aligned,
                           SoftmaxBackward<false, T>{y, dy, width, dx});
  });
}

}  // namespace adj::kernels::cuda
