// Flags are int32, so that their in-place prefix sum directly gives the output position of each matching
// element: 4 bytes written per element, 4 read and written, then 12 read, to repeat the test, and at most 4
// written. Temporaries: that sum, and CUB's own.
#include <adjoint/kernels/cuda/cub.cuh>
#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/index/select.h>

namespace adj::kernels::cuda {

namespace {

__device__ bool passes(PairTest test, const int32_t* a, const int32_t* b, int64_t k) {
  switch (test) {
    case PairTest::differ:
      return a[k] != b[k];
    case PairTest::both_present:
      return a[k] >= 0 && b[k] >= 0;
    case PairTest::both_absent:
      return a[k] < 0 && b[k] < 0;
    case PairTest::ascends:
      return a[k] <= b[k];
    case PairTest::begins_run:
      return k == 0 || a[k] != a[k - 1] || b[k] != b[k - 1];
  }
  return false;
}

// One thread sums one column of one run, in order: runs of a graph's parallel edges are short, and adjacent
// threads read adjacent columns.

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

void iota(const IotaArgs& args) {
  // With one number per thread, launching the threads takes longer than writing.
  const int64_t n = args.y.numel(), threads = ceil_div(n, 4);
  int32_t* y = args.y.mutable_data<int32_t>();
  for_each("iota", args.y.device().index, threads, [=] __device__(int64_t first) {
    for (int64_t k = first; k < n; k += threads) y[k] = static_cast<int32_t>(k);
  });
}

void select_pairs(const SelectPairsArgs& args) {
  const int64_t n = args.a.numel();
  if (n == 0) {
    args.count.zero_();
    return;
  }
  const Device device = args.a.device();
  Tensor before = Tensor::empty({n}, DType::i32, device);
  const int32_t *a = args.a.data<int32_t>(), *b = args.b.data<int32_t>();
  int32_t *sums = before.mutable_data<int32_t>(), *positions = args.positions.mutable_data<int32_t>();
  int64_t* count = args.count.mutable_data<int64_t>();
  const PairTest test = args.test;
  for_each("select_pairs", device.index, n,
           [=] __device__(int64_t k) { sums[k] = passes(test, a, b, k) ? 1 : 0; });
  exclusive_sum(sums, n, device);
  for_each("select_pairs", device.index, n, [=] __device__(int64_t k) {
    const bool taken = passes(test, a, b, k);
    if (taken) positions[sums[k]] = static_cast<int32_t>(k);
    if (k == n - 1) *count = sums[k] + (taken ? 1 : 0);
  });
}

namespace {

// An integer minimum does not depend on the order of the atomics, which only bad indices execute.
template <class T>
void find_outside(const Tensor& indices, int64_t limit, long long* position) {
  const T* index = indices.data<T>();
  for_each("first_outside", indices.device().index, indices.numel(), [=] __device__(int64_t k) {
    if (index[k] < 0 || index[k] >= limit) atomicMin(position, static_cast<long long>(k));
  });
}

}  // namespace

void first_outside(const FirstOutsideArgs& args) {
  const int64_t n = args.index.numel();
  args.position.fill_(static_cast<double>(n));
  if (n == 0) return;
  auto* out = static_cast<long long*>(args.position.raw_mutable_data());
  args.index.dtype() == DType::i32 ? find_outside<int32_t>(args.index, args.limit, out)
                                   : find_outside<int64_t>(args.index, args.limit, out);
}

// Integer atomic minima are deterministic in any thread order.
void renumber(const RenumberArgs& args) {
  const int64_t n = args.index.numel();
  const int device = args.index.device().index;
  auto* number = static_cast<uint32_t*>(args.number.raw_mutable_data());
  auto* repeated = static_cast<long long*>(args.repeated.raw_mutable_data());
  const int32_t* index = args.index.data<int32_t>();
  // As unsigned, -1 is larger than every number.
  for_each("renumber", device, args.number.numel(), [=] __device__(int64_t i) { number[i] = 0xffffffffu; });
  args.repeated.fill_(static_cast<double>(n));
  for_each("renumber", device, n, [=] __device__(int64_t k) {
    if (index[k] >= 0) atomicMin(number + index[k], static_cast<uint32_t>(k));
  });
  for_each("renumber", device, n, [=] __device__(int64_t k) {
    if (index[k] >= 0 && number[index[k]] != static_cast<uint32_t>(k))
      atomicMin(repeated, static_cast<long long>(k));
  });
}

void order_pairs(const OrderPairsArgs& args) {
  const int32_t *a = args.a.data<int32_t>(), *b = args.b.data<int32_t>();
  int32_t *low = args.low.mutable_data<int32_t>(), *high = args.high.mutable_data<int32_t>();
  for_each("order_pairs", args.a.device().index, args.a.numel(), [=] __device__(int64_t k) {
    const int32_t first = a[k], second = b[k];
    low[k] = min(first, second);
    high[k] = max(first, second);
  });
}

void find_ranges(const FindRangesArgs& args) {
  const int32_t *index = args.index.data<int32_t>(), *bounds = args.bounds.data<int32_t>();
  int32_t *range = args.range.mutable_data<int32_t>(), *place = args.place.mutable_data<int32_t>();
  const auto ranges = static_cast<int32_t>(args.bounds.numel() - 1);
  for_each("find_ranges", args.index.device().index, args.index.numel(), [=] __device__(int64_t k) {
    const int32_t found = detail::range_of(bounds, ranges, index[k]);
    range[k] = found;
    place[k] = index[k] - bounds[found];
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
