// One warp per row, so that a row's samples are written contiguously; draws and their rules are those of
// draws.h, and so bitwise equal to the CPU's. A hop must move, per row, its bounds and offset (24 bytes) and,
// per sampled entry, the sector of its column (32 bytes at most), 4 bytes of entry and 4 of column; LABOR and
// weighted choices without replacement also read the whole row (4 bytes per entry), the former twice.
//
// Distinct draws are resolved serially against the previous ones, 32 at a time: k^2 / 64 warp steps for k
// entries. The k-th smallest key of a row is found by bisection of its 64 bits, without storage: a lane keeps
// the key of its first entry, which covers rows up to 32; others are recomputed.

#include <adjoint/kernels/cuda/cub.cuh>
#include <adjoint/kernels/sample/draws.h>
#include <adjoint/kernels/sample/sample_neighbors.h>

namespace adj::kernels::cuda {

namespace {

constexpr unsigned kWarp = 0xffffffffu;

struct Rows {
  const int64_t* offsets;
  const int32_t* columns;
  const int32_t* rows;
  int64_t count;
  int64_t fanout;
  NeighborChoice choice;
  uint64_t seed;
  RandomKey key;
  const float* weight;
  const double* sums;
  const int32_t* positive;

  explicit Rows(const NeighborSample& request)
      : offsets(request.csr.offsets.data<int64_t>()),
        columns(request.csr.indices.data<int32_t>()),
        rows(request.rows.data<int32_t>()),
        count(request.rows.numel()),
        fanout(request.fanout),
        choice(request.choice),
        seed(request.key.seed),
        key(request.key),
        weight(request.weights != nullptr ? request.weights->weight.data<float>() : nullptr),
        sums(request.weights != nullptr ? request.weights->sums.data<double>() : nullptr),
        positive(request.weights != nullptr ? request.weights->positive.data<int32_t>() : nullptr) {}

  __device__ bool repeats() const {
    return choice == NeighborChoice::uniform_repeated || choice == NeighborChoice::weighted_repeated;
  }
  __device__ bool takes(uint64_t stream, int32_t source, int64_t degree) const {
    return sample::labor_takes(sample::labor_word(seed, stream, source), degree, fanout);
  }
};

__global__ void __launch_bounds__(kBlockThreads) count_entries(Rows r, int64_t* offsets) {
  const int64_t warp = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (warp >= r.count) return;
  const int32_t row = r.rows[warp];
  const int64_t first = r.offsets[row], degree = r.offsets[row + 1] - first;
  const int64_t choosable = r.positive != nullptr ? r.positive[row] : degree;
  int64_t taken = choosable;
  if (r.fanout != kAllNeighbors && choosable > 0) {
    if (r.repeats()) {
      taken = r.fanout;
    } else if (choosable > r.fanout) {
      taken = r.fanout;
      if (r.choice == NeighborChoice::labor) {
        const uint64_t stream = stream_of(r.key);
        taken = 0;
        for (int64_t base = 0; base < degree; base += 32) {
          const bool is = base + lane < degree && r.takes(stream, r.columns[first + base + lane], degree);
          taken += __popc(__ballot_sync(kWarp, is));
        }
      }
    }
  }
  if (lane == 0) offsets[warp + 1] = taken;
  if (warp == 0 && lane == 0) offsets[0] = 0;
}

/// Appends the entries of the lanes with `takes`, in lane order.
__device__ void append(const Rows& r, bool takes, int32_t entry, int lane, int64_t& position,
                       int32_t* entries, int32_t* col) {
  const unsigned mask = __ballot_sync(kWarp, takes);
  if (takes) {
    const int64_t index = position + __popc(mask & ((1u << lane) - 1u));
    entries[index] = entry;
    col[index] = r.columns[entry];
  }
  position += __popc(mask);
}

/// The `count` entries with the smallest keys, ties to the earlier.
__device__ void smallest_keys(const Rows& r, uint64_t stream, int32_t row, int32_t first, int32_t degree,
                              int64_t count, int lane, int64_t position, int32_t* entries, int32_t* col) {
  constexpr unsigned long long kNone = ~0ull;
  const auto key_of = [&](int32_t place) -> unsigned long long {
    if (place >= degree || !(r.weight[first + place] > 0.0f)) return kNone;
    return static_cast<unsigned long long>(__double_as_longlong(
        sample::weighted_key(r.seed, stream, row, static_cast<uint32_t>(place), r.weight[first + place])));
  };
  // Positive doubles are ordered like their bits.
  const unsigned long long mine = key_of(lane);
  const auto key = [&](int32_t place) { return place < 32 ? mine : key_of(place); };
  unsigned long long low = 0;  // the largest number with fewer than `count` keys below it is the count-th key
  for (int bit = 62; bit >= 0; --bit) {
    const unsigned long long middle = low | 1ull << bit;
    int64_t below = 0;
    for (int32_t base = 0; base < degree; base += 32)
      below += __popc(__ballot_sync(kWarp, key(base + lane) < middle));
    if (below < count) low = middle;
  }
  int64_t less = 0;
  for (int32_t base = 0; base < degree; base += 32)
    less += __popc(__ballot_sync(kWarp, key(base + lane) < low));
  int64_t equal_left = count - less;
  for (int32_t base = 0; base < degree; base += 32) {
    const unsigned long long k = key(base + lane);
    const unsigned equal = __ballot_sync(kWarp, k == low);
    const bool takes = k < low || (k == low && __popc(equal & ((1u << lane) - 1u)) < equal_left);
    equal_left -= min(equal_left, static_cast<int64_t>(__popc(equal)));
    append(r, takes, first + base + lane, lane, position, entries, col);
  }
}

/// Floyd's choice; the whole warp compares each draw with the previous ones.
__device__ void distinct(const Rows& r, uint64_t stream, int32_t row, int32_t first, int32_t degree,
                         int32_t count, int lane, int64_t position, int32_t* entries, int32_t* col) {
  const int32_t last = degree - count;
  for (int32_t base = 0; base < count; base += 32) {
    const int32_t slot = base + lane, strip = min(count - base, 32);
    int32_t place = -1;
    if (slot < count)
      place = sample::draw_below(r.seed, stream, row, degree, static_cast<uint32_t>(slot),
                                 static_cast<uint32_t>(last + slot) + 1);
    for (int32_t i = 0; i < strip; ++i) {
      const int32_t drawn = __shfl_sync(kWarp, place, i);
      bool duplicate = lane < i && place == drawn;
      for (int32_t before = lane; before < base; before += 32)
        duplicate |= entries[position + before] == first + drawn;
      if (__any_sync(kWarp, duplicate) && lane == i) place = last + slot;
    }
    if (slot < count) {
      entries[position + slot] = first + place;
      col[position + slot] = r.columns[first + place];
    }
    __syncwarp();
  }
}

__global__ void __launch_bounds__(kBlockThreads)
    take_entries(Rows r, const int64_t* offsets, int32_t* entries, int32_t* col) {
  const int64_t warp = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (warp >= r.count) return;
  int64_t position = offsets[warp];
  const int64_t count = offsets[warp + 1] - position;
  if (count == 0) return;
  const int32_t row = r.rows[warp];
  const auto first = static_cast<int32_t>(r.offsets[row]);
  const auto degree = static_cast<int32_t>(r.offsets[row + 1] - first);
  const int64_t choosable = r.positive != nullptr ? r.positive[row] : degree;
  const uint64_t stream = stream_of(r.key);
  if (r.fanout == kAllNeighbors || (!r.repeats() && choosable <= r.fanout)) {
    for (int32_t base = 0; base < degree; base += 32) {
      const int32_t e = first + base + lane;
      append(r, base + lane < degree && (r.weight == nullptr || r.weight[e] > 0.0f), e, lane, position,
             entries, col);
    }
  } else if (r.choice == NeighborChoice::uniform) {
    distinct(r, stream, row, first, degree, static_cast<int32_t>(count), lane, position, entries, col);
  } else if (r.choice == NeighborChoice::weighted) {
    smallest_keys(r, stream, row, first, degree, count, lane, position, entries, col);
  } else if (r.choice == NeighborChoice::labor) {
    for (int32_t base = 0; base < degree; base += 32) {
      const int32_t e = first + base + lane;
      append(r, base + lane < degree && r.takes(stream, r.columns[e], degree), e, lane, position, entries,
             col);
    }
  } else {
    for (int64_t slot = lane; slot < count; slot += 32) {
      const auto s = static_cast<uint32_t>(slot);
      const int32_t e =
          first +
          (r.sums != nullptr
               ? sample::find_by_weight(sample::draw_unit(r.seed, stream, row, s), r.sums + first, degree)
               : sample::draw_below(r.seed, stream, row, degree, s, static_cast<uint32_t>(degree)));
      entries[position + slot] = e;
      col[position + slot] = r.columns[e];
    }
  }
}

}  // namespace

void sample_counts(const SampleCountsArgs& args) {
  const Device device = args.device();
  const int64_t n = args.request.rows.numel();
  if (n == 0) {
    args.offsets.zero_();
    return;
  }
  int64_t* offsets = args.offsets.mutable_data<int64_t>();
  launch("sample_counts", {.device = device.index, .blocks = blocks_for(32 * n)}, count_entries,
         Rows(args.request), offsets);
  with_workspace(device, [&](void* memory, size_t& bytes, cudaStream_t stream) {
    return cub::DeviceScan::InclusiveSum(memory, bytes, offsets + 1, offsets + 1, n, stream);
  });
}

void sample_neighbors(const SampleNeighborsArgs& args) {
  launch("sample_neighbors",
         {.device = args.device().index, .blocks = blocks_for(32 * args.request.rows.numel())}, take_entries,
         Rows(args.request), args.offsets.data<int64_t>(), args.entry.mutable_data<int32_t>(),
         args.col.mutable_data<int32_t>());
}

}  // namespace adj::kernels::cuda
