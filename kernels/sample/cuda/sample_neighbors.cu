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

__global__ void __launch_bounds__(kBlockThreads) count_entries(SampledRows r, int64_t* offsets) {
  const int64_t warp = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (warp >= r.num_rows) return;
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
__device__ void append(const SampledRows& r, bool takes, int32_t entry, int lane, int64_t& position,
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
__device__ void smallest_keys(const SampledRows& r, uint64_t stream, int32_t row, int32_t first,
                              int32_t degree, int64_t count, int lane, int64_t position, int32_t* entries,
                              int32_t* col) {
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
__device__ void distinct(const SampledRows& r, uint64_t stream, int32_t row, int32_t first, int32_t degree,
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
    take_entries(SampledRows r, const int64_t* offsets, int32_t* entries, int32_t* col) {
  const int64_t warp = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (warp >= r.num_rows) return;
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

// The first of equal new ids is found independently of thread order: each position of a new id claims it in
// the table by a number beyond all known ones, larger for earlier positions, and the largest stays. A prefix
// sum over the winning positions numbers them. Bytes per id: 4 in four passes and the table's sector (32
// bytes, mostly in L2) in each, an atomic in the first, and 4 bytes of the sum written and read; no cleanup,
// since the next batch's base is higher.

struct Numbering {
  const int32_t* ids;
  const int64_t* used;
  int64_t all;
  int32_t claims;  ///< base + known: claims begin here
  int32_t base;
  int32_t* table;
  int32_t* nodes;
  int32_t* number;
  int32_t* before;
  int64_t* count;

  __device__ int64_t places() const { return used != nullptr ? *used : all; }
  __device__ int32_t claim(int64_t k) const { return claims + static_cast<int32_t>(all - 1 - k); }
  __device__ int32_t known() const { return claims - base; }
};

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
         SampledRows(args.request), offsets);
  with_workspace(device, [&](void* memory, size_t& bytes, cudaStream_t stream) {
    return cub::DeviceScan::InclusiveSum(memory, bytes, offsets + 1, offsets + 1, n, stream);
  });
}

void sample_neighbors(const SampleNeighborsArgs& args) {
  launch("sample_neighbors",
         {.device = args.device().index, .blocks = blocks_for(32 * args.request.rows.numel())}, take_entries,
         SampledRows(args.request), args.offsets.data<int64_t>(), args.entry.mutable_data<int32_t>(),
         args.col.mutable_data<int32_t>());
}

void number_nodes(const NumberNodesArgs& args) {
  const Device device = args.device();
  const int64_t all = args.ids.numel();
  if (all == 0) {
    args.count.fill_(static_cast<double>(args.known));
    return;
  }
  Tensor before = Tensor::empty({all}, DType::i32, device);
  const Numbering n{.ids = args.ids.data<int32_t>(),
                    .used = data_or_null<int64_t>(args.used),
                    .all = all,
                    .claims = static_cast<int32_t>(args.base + args.known),
                    .base = static_cast<int32_t>(args.base),
                    .table = args.table.mutable_data<int32_t>(),
                    .nodes = args.nodes.mutable_data<int32_t>(),
                    .number = args.number.mutable_data<int32_t>(),
                    .before = before.mutable_data<int32_t>(),
                    .count = args.count.mutable_data<int64_t>()};
  for_each("number_nodes", device.index, all, [=] __device__(int64_t k) {
    if (k >= n.places()) return;
    int32_t* slot = n.table + n.ids[k];
    const int32_t found = *slot;
    // Already known, or claimed by an earlier position.
    if ((found < n.base || found >= n.claims) && found < n.claim(k)) atomicMax(slot, n.claim(k));
  });
  for_each("number_nodes", device.index, all, [=] __device__(int64_t k) {
    n.before[k] = k < n.places() && n.table[n.ids[k]] == n.claim(k) ? 1 : 0;
  });
  exclusive_sum(n.before, all, device);
  for_each("number_nodes", device.index, all, [=] __device__(int64_t k) {
    const bool counts = k < n.places();
    const int32_t found = counts ? n.table[n.ids[k]] : n.base;
    if (counts) {
      if (found < n.claims) {
        n.number[k] = found - n.base;
      } else {
        const int64_t first = n.all - 1 - (found - n.claims);
        n.number[k] = n.known() + n.before[first];
        if (first == k) n.nodes[n.known() + n.before[k]] = n.ids[k];
      }
    }
    if (k == n.all - 1) *n.count = n.known() + n.before[k] + (counts && found == n.claim(k) ? 1 : 0);
  });
  // Replaces claims by numbers: each first position writes its own id.
  for_each("number_nodes", device.index, all, [=] __device__(int64_t i) {
    if (i >= *n.count - n.known()) return;
    const int32_t number = n.known() + static_cast<int32_t>(i);
    n.table[n.nodes[number]] = n.base + number;
  });
}

}  // namespace adj::kernels::cuda
