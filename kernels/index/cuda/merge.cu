// One thread sums one column of one run, in order: runs of a graph's parallel edges are short, and adjacent
// threads read adjacent columns.

#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/index/merge.h>

namespace adj::kernels::cuda {

namespace {

template <class T>
struct MergeRuns {
  bool mean;
  int64_t runs, entries, width;
  const T* x;
  const int32_t *order, *starts;
  T* y;

  __device__ void operator()(int64_t i) const {
    const int64_t r = i / width, f = i - r * width;
    const int64_t first = starts[r], last = r + 1 < runs ? starts[r + 1] : entries;
    double sum = 0.0;
    for (int64_t k = first; k < last; ++k) sum += static_cast<double>(x[order[k] * width + f]);
    y[i] = static_cast<T>(mean ? sum / static_cast<double>(last - first) : sum);
  }
};

}  // namespace

void order_pairs(const OrderPairsArgs& args) {
  const int32_t *a = args.a.data<int32_t>(), *b = args.b.data<int32_t>();
  int32_t *low = args.low.mutable_data<int32_t>(), *high = args.high.mutable_data<int32_t>();
  for_each("order_pairs", args.a.device().index, args.a.numel(), [=] __device__(int64_t k) {
    const int32_t first = a[k], second = b[k];
    low[k] = min(first, second);
    high[k] = max(first, second);
  });
}

void merge_runs(const MergeRunsArgs& args) {
  dispatch_float(args.x.dtype(), "merge_runs", [&]<class T>() {
    for_each(
        "merge_runs", args.x.device().index, args.y.numel(),
        MergeRuns<T>{args.mean, args.starts.numel(), args.order.numel(), args.x.size(1), args.x.data<T>(),
                     args.order.data<int32_t>(), args.starts.data<int32_t>(), args.y.mutable_data<T>()});
  });
}

}  // namespace adj::kernels::cuda
