#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/index/merge.h>

#include <algorithm>

namespace adj::kernels::cpu {

void order_pairs(const OrderPairsArgs& args) {
  const int32_t *a = args.a.data<int32_t>(), *b = args.b.data<int32_t>();
  int32_t *low = args.low.mutable_data<int32_t>(), *high = args.high.mutable_data<int32_t>();
  for_each_index(args.a.numel(), kCostlyGrain, [=](int64_t k) {
    const auto [less, more] = std::minmax(a[k], b[k]);
    low[k] = less;
    high[k] = more;
  });
}

void merge_runs(const MergeRunsArgs& args) {
  const int32_t *order = args.order.data<int32_t>(), *starts = args.starts.data<int32_t>();
  const int64_t runs = args.starts.numel(), entries = args.order.numel(), width = args.x.size(1);
  dispatch_float(args.x.dtype(), "merge_runs", [&]<class T>() {
    const T* x = args.x.data<T>();
    T* y = args.y.mutable_data<T>();
    for_each_index(runs, kCostlyGrain / 4, [=, mean = args.mean](int64_t r) {
      const int64_t first = starts[r], last = r + 1 < runs ? starts[r + 1] : entries;
      for (int64_t f = 0; f < width; ++f) {
        double sum = 0.0;
        for (int64_t k = first; k < last; ++k) sum += static_cast<double>(x[order[k] * width + f]);
        y[r * width + f] = static_cast<T>(mean ? sum / static_cast<double>(last - first) : sum);
      }
    });
  });
}

}  // namespace adj::kernels::cpu
