#include <adjoint/core/parallel.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/index/select.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kSelectGrain = 1 << 15;  // elements per chunk

/// One pass counts matches per chunk, the next writes them. Both are branch-free. Positions below `first`
/// match untested.
template <class Test>
void select(const SelectPairsArgs& args, int64_t first, Test test) {
  const int64_t n = args.a.numel();
  int32_t* positions = args.positions.mutable_data<int32_t>();
  std::vector<int64_t> before(static_cast<size_t>(ceil_div(n, kSelectGrain)) + 1);
  parallel_for(n, kSelectGrain, [=, &before](int64_t begin, int64_t end) {
    int32_t count = begin == 0 ? static_cast<int32_t>(first) : 0;
    for (int64_t k = std::max(begin, first); k < end; ++k) count += static_cast<int32_t>(test(k));
    before[static_cast<size_t>(begin / kSelectGrain) + 1] = count;
  });
  for (size_t chunk = 1; chunk < before.size(); ++chunk) before[chunk] += before[chunk - 1];
  parallel_for(n, kSelectGrain, [=, &before](int64_t begin, int64_t) {
    const auto chunk = static_cast<size_t>(begin / kSelectGrain);
    const int64_t last = before[chunk + 1];
    int64_t k = begin;
    for (int64_t slot = before[chunk]; slot < last; ++k) {
      positions[slot] = static_cast<int32_t>(k);
      slot += static_cast<int64_t>(k < first || test(k));
    }
  });
  *args.count.mutable_data<int64_t>() = before.back();
}

}  // namespace

void iota(const IotaArgs& args) {
  int32_t* y = args.y.mutable_data<int32_t>();
  parallel_for(args.y.numel(), kSelectGrain, [=](int64_t begin, int64_t end) {
    std::iota(y + begin, y + end, static_cast<int32_t>(begin));
  });
}

void select_pairs(const SelectPairsArgs& args) {
  const int32_t *a = args.a.data<int32_t>(), *b = args.b.data<int32_t>();
  switch (args.test) {
    case PairTest::differ:
      return select(args, 0, [=](int64_t k) { return a[k] != b[k]; });
    case PairTest::both_present:
      return select(args, 0, [=](int64_t k) { return (a[k] | b[k]) >= 0; });
    case PairTest::both_absent:
      return select(args, 0, [=](int64_t k) { return (a[k] & b[k]) < 0; });
    case PairTest::ascends:
      return select(args, 0, [=](int64_t k) { return a[k] <= b[k]; });
    case PairTest::begins_run:
      return select(args, std::min<int64_t>(1, args.a.numel()),
                    [=](int64_t k) { return ((a[k] ^ a[k - 1]) | (b[k] ^ b[k - 1])) != 0; });
  }
}

namespace {

template <class T>
int64_t find(const T* index, int64_t n, int64_t limit) {
  std::vector<int64_t> found(static_cast<size_t>((n + kSelectGrain - 1) / kSelectGrain), n);
  parallel_for(n, kSelectGrain, [=, &found](int64_t begin, int64_t end) {
    int outside = 0;
    for (int64_t k = begin; k < end; ++k) outside |= static_cast<int>((index[k] < 0) | (index[k] >= limit));
    if (outside == 0) return;
    const T* bad =
        std::find_if(index + begin, index + end, [=](T value) { return value < 0 || value >= limit; });
    found[static_cast<size_t>(begin / kSelectGrain)] = bad - index;
  });
  return found.empty() ? n : *std::min_element(found.begin(), found.end());
}

}  // namespace

void first_outside(const FirstOutsideArgs& args) {
  const int64_t limit = args.limit;
  *args.position.mutable_data<int64_t>() = args.index.dtype() == DType::i32
                                               ? find(args.index.data<int32_t>(), args.index.numel(), limit)
                                               : find(args.index.data<int64_t>(), args.index.numel(), limit);
}

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

void order_pairs(const OrderPairsArgs& args) {
  const int32_t *a = args.a.data<int32_t>(), *b = args.b.data<int32_t>();
  int32_t *low = args.low.mutable_data<int32_t>(), *high = args.high.mutable_data<int32_t>();
  for_each_index(args.a.numel(), kCostlyGrain, [=](int64_t k) {
    const auto [less, more] = std::minmax(a[k], b[k]);
    low[k] = less;
    high[k] = more;
  });
}

void find_ranges(const FindRangesArgs& args) {
  const int32_t *index = args.index.data<int32_t>(), *bounds = args.bounds.data<int32_t>();
  int32_t *range = args.range.mutable_data<int32_t>(), *place = args.place.mutable_data<int32_t>();
  const auto ranges = static_cast<int32_t>(args.bounds.numel() - 1);
  for_each_index(args.index.numel(), kCostlyGrain, [=](int64_t k) {
    const int32_t found = detail::range_of(bounds, ranges, index[k]);
    range[k] = found;
    place[k] = index[k] - bounds[found];
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
