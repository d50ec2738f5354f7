// One thread sums one column of one run, in order: runs of a graph's parallel edges are short, and adjacent
// threads read adjacent columns.

#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/kernels/index/merge.h>

namespace adj::kernels::cuda {

namespace {

using adj::cuda::blocks_for;
using adj::cuda::launch;

constexpr int kThreads = adj::cuda::kBlockThreads;

__global__ void __launch_bounds__(kThreads)
    order_pairs_kernel(int64_t n, const int32_t* a, const int32_t* b, int32_t* low, int32_t* high) {
  const int64_t k = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (k >= n) return;
  const int32_t first = a[k], second = b[k];
  low[k] = min(first, second);
  high[k] = max(first, second);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    merge_runs_kernel(bool mean, int64_t runs, int64_t entries, int64_t width, const T* x,
                      const int32_t* order, const int32_t* starts, T* y) {
  const int64_t n = runs * width, step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step) {
    const int64_t r = i / width, f = i - r * width;
    const int64_t first = starts[r], last = r + 1 < runs ? starts[r + 1] : entries;
    double sum = 0.0;
    for (int64_t k = first; k < last; ++k) sum += static_cast<double>(x[order[k] * width + f]);
    y[i] = static_cast<T>(mean ? sum / static_cast<double>(last - first) : sum);
  }
}

}  // namespace

void order_pairs(const OrderPairsArgs& args) {
  launch("order_pairs", {.device = args.a.device().index, .blocks = blocks_for(args.a.numel())},
         order_pairs_kernel, args.a.numel(), args.a.data<int32_t>(), args.b.data<int32_t>(),
         args.low.mutable_data<int32_t>(), args.high.mutable_data<int32_t>());
}

void merge_runs(const MergeRunsArgs& args) {
  dispatch_float(args.x.dtype(), "merge_runs", [&]<class T>() {
    launch("merge_runs", {.device = args.x.device().index, .blocks = blocks_for(args.y.numel())},
           merge_runs_kernel<T>, args.mean, args.starts.numel(), args.order.numel(), args.x.size(1),
           args.x.data<T>(), args.order.data<int32_t>(), args.starts.data<int32_t>(),
           args.y.mutable_data<T>());
  });
}

}  // namespace adj::kernels::cuda
