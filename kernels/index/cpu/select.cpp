#include <adjoint/core/parallel.h>
#include <adjoint/kernels/index/select.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kGrain = 1 << 15;

/// One pass counts matches per chunk, the next writes them. Both are branch-free. Positions below `first`
/// match untested.
template <class Test>
void select(const SelectPairsArgs& args, int64_t first, Test test) {
  const int64_t n = args.a.numel();
  int32_t* positions = args.positions.mutable_data<int32_t>();
  std::vector<int64_t> before(static_cast<size_t>(ceil_div(n, kGrain)) + 1);
  parallel_for(n, kGrain, [=, &before](int64_t begin, int64_t end) {
    int32_t count = begin == 0 ? static_cast<int32_t>(first) : 0;
    for (int64_t k = std::max(begin, first); k < end; ++k) count += static_cast<int32_t>(test(k));
    before[static_cast<size_t>(begin / kGrain) + 1] = count;
  });
  for (size_t chunk = 1; chunk < before.size(); ++chunk) before[chunk] += before[chunk - 1];
  parallel_for(n, kGrain, [=, &before](int64_t begin, int64_t) {
    const auto chunk = static_cast<size_t>(begin / kGrain);
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
  parallel_for(args.y.numel(), kGrain, [=](int64_t begin, int64_t end) {
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
  std::vector<int64_t> found(static_cast<size_t>((n + kGrain - 1) / kGrain), n);
  parallel_for(n, kGrain, [=, &found](int64_t begin, int64_t end) {
    int outside = 0;
    for (int64_t k = begin; k < end; ++k) outside |= static_cast<int>((index[k] < 0) | (index[k] >= limit));
    if (outside == 0) return;
    const T* bad =
        std::find_if(index + begin, index + end, [=](T value) { return value < 0 || value >= limit; });
    found[static_cast<size_t>(begin / kGrain)] = bad - index;
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

}  // namespace adj::kernels::cpu
