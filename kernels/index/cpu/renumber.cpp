#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/index/renumber.h>

#include <algorithm>
#include <atomic>

namespace adj::kernels::cpu {

void renumber(const RenumberArgs& args) {
  const int32_t* index = args.index.data<int32_t>();
  int32_t* number = args.number.mutable_data<int32_t>();
  const int64_t n = args.index.numel(), limit = args.number.numel();
  parallel_for(limit, kCostlyGrain,
               [=](int64_t begin, int64_t end) { std::fill(number + begin, number + end, -1); });
  // Without duplicates each number has one writer, and there are as many numbers as writers.
  std::atomic<int64_t> unmatched{0};
  parallel_for(n, kCostlyGrain, [=, &unmatched](int64_t begin, int64_t end) {
    int64_t written = 0;
    for (int64_t k = begin; k < end; ++k) {
      if (index[k] < 0) continue;
      std::atomic_ref(number[index[k]]).store(static_cast<int32_t>(k), std::memory_order_relaxed);
      ++written;
    }
    unmatched += written;
  });
  parallel_for(limit, kCostlyGrain, [=, &unmatched](int64_t begin, int64_t end) {
    int64_t found = 0;
    for (int64_t i = begin; i < end; ++i) found += static_cast<int64_t>(number[i] >= 0);
    unmatched -= found;
  });
  int64_t repeated = n;
  if (unmatched != 0) {
    for (int64_t k = n - 1; k >= 0; --k)  // backwards: the first is written last
      if (index[k] >= 0) number[index[k]] = static_cast<int32_t>(k);
    for (int64_t k = 0; k < n && repeated == n; ++k)
      if (index[k] >= 0 && number[index[k]] != k) repeated = k;
  }
  *args.repeated.mutable_data<int64_t>() = repeated;
}

}  // namespace adj::kernels::cpu
