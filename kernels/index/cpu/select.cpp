#include <adjoint/core/parallel.h>
#include <adjoint/kernels/index/select.h>

#include <numeric>
#include <utility>
#include <vector>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kGrain = 1 << 15;

template <class Test>
void flag(const FlagPairsArgs& args, Test&& test) {
  int32_t* flags = args.flags.mutable_data<int32_t>();
  parallel_for(args.a.numel(), kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) flags[k] = test(k) ? 1 : 0;
  });
}

}  // namespace

void iota(const IotaArgs& args) {
  int32_t* y = args.y.mutable_data<int32_t>();
  parallel_for(args.y.numel(), kGrain, [=](int64_t begin, int64_t end) {
    std::iota(y + begin, y + end, static_cast<int32_t>(begin));
  });
}

void flag_pairs(const FlagPairsArgs& args) {
  const int32_t *a = args.a.data<int32_t>(), *b = args.b.data<int32_t>();
  switch (args.test) {
    case PairTest::differ:
      return flag(args, [=](int64_t k) { return a[k] != b[k]; });
    case PairTest::both_present:
      return flag(args, [=](int64_t k) { return a[k] >= 0 && b[k] >= 0; });
    case PairTest::both_absent:
      return flag(args, [=](int64_t k) { return a[k] < 0 && b[k] < 0; });
    case PairTest::begins_run:
      return flag(args, [=](int64_t k) { return k == 0 || a[k] != a[k - 1] || b[k] != b[k - 1]; });
  }
}

void select_flagged(const SelectFlaggedArgs& args) {
  const int32_t* flags = args.flags.data<int32_t>();
  int32_t* positions = args.positions.mutable_data<int32_t>();
  const int64_t n = args.flags.numel();
  std::vector<int64_t> before(static_cast<size_t>((n + kGrain - 1) / kGrain));
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    before[static_cast<size_t>(begin / kGrain)] = std::accumulate(flags + begin, flags + end, int64_t{0});
  });
  int64_t total = 0;
  for (int64_t& chunk : before) total += std::exchange(chunk, total);
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    int64_t to = before[static_cast<size_t>(begin / kGrain)];
    for (int64_t k = begin; k < end; ++k)
      if (flags[k] != 0) positions[to++] = static_cast<int32_t>(k);
  });
  *args.count.mutable_data<int64_t>() = total;
}

}  // namespace adj::kernels::cpu
