// Rows from the device's memory and rows from the host's, in one pass: K rows of F s bytes are written, the
// hot ones are read at the device's bandwidth and the cold ones over its bus, which bounds the time (some 50
// GB/s on PCIe 5). Reads over the bus are long under way, so a warp asks for four units a lane before it
// waits for the first: neighbouring lanes read neighbouring units of 16 bytes, and rows go over the bus in
// pieces as large as it has.
#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/index/gather_cached.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kAhead = 4;

template <class Unit, class Index>
__global__ void __launch_bounds__(kBlockThreads)
    gather_cached_kernel(Index units, Index units_per_row, const Unit* __restrict__ hot,
                         const Unit* __restrict__ cold, const int32_t* __restrict__ at,
                         Unit* __restrict__ y) {
  begin_overlapping();
  const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
  for (Index first = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; first < units;
       first += kAhead * step) {
    Unit unit[kAhead];
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      const int64_t i = static_cast<int64_t>(first) + a * static_cast<int64_t>(step);
      if (i >= static_cast<int64_t>(units)) break;
      const Index k = static_cast<Index>(i) / units_per_row;
      const Index column = static_cast<Index>(i) - k * units_per_row;
      const int32_t row = at[k];
      unit[a] = row >= 0 ? hot[static_cast<int64_t>(row) * units_per_row + column]
                         : cold[(-1 - static_cast<int64_t>(row)) * units_per_row + column];
    }
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      const int64_t i = static_cast<int64_t>(first) + a * static_cast<int64_t>(step);
      if (i < static_cast<int64_t>(units)) y[i] = unit[a];
    }
  }
}

}  // namespace

void gather_cached(const GatherCachedArgs& args) {
  const uint64_t row = bytes_of({args.hot.size(1)}, args.hot.dtype());
  const void *hot = args.hot.raw_data(), *cold = args.cold.data;
  void* y = args.y.raw_mutable_data();
  const uint64_t all = row | reinterpret_cast<uintptr_t>(hot) | reinterpret_cast<uintptr_t>(cold) |
                       reinterpret_cast<uintptr_t>(y);
  const auto go = [&]<class Unit>() {
    const auto per_row = static_cast<int64_t>(row / sizeof(Unit));
    const int64_t units = per_row * args.at.numel();
    const auto launch_with = [&]<class Index>() {
      launch("gather_cached",
             {.device = args.hot.device().index, .blocks = blocks_for(units, kAhead), .overlaps = true},
             gather_cached_kernel<Unit, Index>, static_cast<Index>(units), static_cast<Index>(per_row),
             static_cast<const Unit*>(hot), static_cast<const Unit*>(cold), args.at.data<int32_t>(),
             static_cast<Unit*>(y));
    };
    // 32-bit division is several times cheaper; what is ahead must be countable too.
    units < (int64_t{1} << 30) ? launch_with.template operator()<uint32_t>()
                               : launch_with.template operator()<int64_t>();
  };
  if (all % 16 == 0) return go.template operator()<uint4>();
  if (all % 4 == 0) return go.template operator()<uint32_t>();
  go.template operator()<uint8_t>();
}

}  // namespace adj::kernels::cuda
