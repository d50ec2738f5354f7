#pragma once

// Building blocks of the attention kernels. A group of lanes takes one item of the structure's plan
// (kernels/aggregate/cuda/spmm_plan.h) and walks its rows, a batch of entries of one row at a time. The lanes
// of a group are divided among adjacent heads, so that they read rows contiguously; further heads go to
// blockIdx.y. A lane keeps the same features throughout.
//
// Scalars per (entry, head), such as logits, are reduced over the head's lanes by recursive halving: each
// lane ends with the sums of the few batch entries that it owns, computes only their exponentials, and
// broadcasts them for weighting the features. That takes 1 + 3 / 4 shuffles per entry and reduction for
// batches of four and one exponential, where a butterfly takes five of each.
//
// Warps stay converged: all groups of a warp run the same number of batches, idle in some, so that every
// shuffle is complete.

#include <adjoint/kernels/aggregate/cuda/item_walk.cuh>
#include <adjoint/kernels/attention/cuda/score.cuh>
#include <adjoint/kernels/cuda/float16.cuh>
#include <adjoint/kernels/elementwise/cuda/dropout_mask.cuh>

namespace adj::kernels::cuda {

/// Layout of a head's features over lanes: lane t owns (c * kLanes + t) * kVector + [0, kVector).
template <class S_, int kVector_, int kLanes_, int kChunks_, int kBatch_, int kThreads_>
struct LaneLayout {
  using S = S_;
  using A = Accumulator<S>;
  static constexpr int kVector = kVector_, kLanes = kLanes_, kChunks = kChunks_, kBatch = kBatch_;
  static constexpr int kThreads = kThreads_;                            ///< per block
  static constexpr int kSpan = kVector * kLanes * kChunks;              ///< width of the widest head
  static constexpr int kOwned = kBatch > kLanes ? kBatch / kLanes : 1;  ///< batch entries per lane
  static constexpr int kShare = kLanes > kBatch ? kLanes / kBatch : 1;  ///< lanes sharing an entry
  static_assert(kOwned == 1 || kShare == 1);
};

/// Whether target passes prefetch rows. Not for dot attention, which has two source rows in flight anyway and
/// was no faster, nor for long rows, which only pay for the registers.
template <class T, class Score>
constexpr bool kAsksAhead = Score::kAtt&& T::kThreads == 128;

/// Minimum resident blocks per SM, which bounds the registers: gathers need other warps to hide latency.
/// `registers` is the budget per thread.
template <class T>
constexpr int blocks_for_registers(int registers) {
  return T::kChunks > 1 || sizeof(typename T::S) == 8 ? 1 : 65536 / (registers * T::kThreads);
}

constexpr unsigned kAllLanes = 0xffffffffu;

/// Leaves in v[k] of lane t the sum over the head's lanes of v[owned_slot(t, k)], k < kOwned.
template <class T>
__device__ __forceinline__ int owned_slot(int t, int k) {
  return T::kOwned > 1 ? t * T::kOwned + k : t / T::kShare;
}
template <class T>
__device__ __forceinline__ void sum_and_own(typename T::A (&v)[T::kBatch], int t) {
  int step = T::kLanes / 2;
#pragma unroll
  for (int n = T::kBatch / 2; n >= 1; n /= 2) {
    if (step < 1) break;
    const bool upper = (t & step) != 0;
#pragma unroll
    for (int i = 0; i < n; ++i) {
      const auto kept = upper ? v[i + n] : v[i], sent = upper ? v[i] : v[i + n];
      v[i] = kept + __shfl_xor_sync(kAllLanes, sent, step);
    }
    step /= 2;
  }
#pragma unroll
  for (; step >= 1; step /= 2) v[0] += __shfl_xor_sync(kAllLanes, v[0], step);
}
/// Value owned by a lane of the head for entry `slot`.
template <class T>
__device__ __forceinline__ typename T::A owned_by(const typename T::A (&v)[T::kBatch], int slot) {
  if constexpr (T::kLanes == 1) return v[slot];
  return __shfl_sync(kAllLanes, v[slot % T::kOwned], T::kOwned > 1 ? slot / T::kOwned : slot * T::kShare,
                     T::kLanes);
}
/// Sum over the head's lanes, on all of them.
template <class T>
__device__ __forceinline__ typename T::A sum_of_head(typename T::A value) {
#pragma unroll
  for (int step = T::kLanes / 2; step >= 1; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}
/// The same for owned values, each entry once.
template <class T>
__device__ __forceinline__ typename T::A sum_of_owned(typename T::A value) {
#pragma unroll
  for (int step = T::kLanes / 2; step >= T::kShare; step /= 2)
    value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}
template <class T>
__device__ __forceinline__ typename T::A largest_of_owned(typename T::A value) {
#pragma unroll
  for (int step = T::kLanes / 2; step >= T::kShare; step /= 2) {
    const auto other = __shfl_xor_sync(kAllLanes, value, step);
    value = other > value ? other : value;
  }
  return value;
}

/// Loads the next batch of columns of a group's item, from `first` on; 0 beyond the item.
template <class T>
__device__ __forceinline__ void load_columns(const int32_t* indices, int first, int end,
                                             int (&column)[T::kBatch]) {
  const int32_t* const batch = indices + first;
  if (first + T::kBatch <= end) {
#pragma unroll
    for (int u = 0; u < T::kBatch; ++u) column[u] = __ldg(batch + u);
  } else {
#pragma unroll
    for (int u = 0; u < T::kBatch; ++u) column[u] = first + u < end ? __ldg(batch + u) : 0;
  }
}

/// Arguments of all passes.
template <class S>
struct AttentionArguments {
  using A = Accumulator<S>;
  // The structure whose rows are walked.
  const ItemStart* starts;
  int items;
  const int64_t* offsets;
  const int32_t* indices;
  const int32_t* order;  ///< null: entry e is edge e
  // The heads.
  int heads;
  int width;       ///< per head
  int side;        ///< adjacent heads in a group: a power of two
  int first_head;  ///< first head of this launch
  uint32_t pitch;  ///< bytes per row of all heads
  // The logits.
  A slope;
  A scale;
  DropoutMask dropout;  ///< threshold 0: none
  A kept_scale;
  int ahead;  ///< entries whose rows are prefetched, or 0
  // For operands (float16): multiplier of a product of a target and a source feature.
  const float *target_scale, *source_scale;

  /// Multiplier of the logits.
  __device__ __forceinline__ A product_scale() const {
    if constexpr (std::is_same_v<S, float16>)
      return __ldg(target_scale) * __ldg(source_scale);
    else
      return A(1);
  }
};

/// Position of a lane.
template <class T>
struct Place {
  int t;      ///< within the head's lanes
  int head;   ///< among all heads
  int group;  ///< within the block
  int groups;
  int group_lanes;
  int feature;       ///< the lane's first feature in a row of all heads, for writes
  int read_feature;  ///< for reads: always a valid feature of the row
  bool has_head;
  bool valid[T::kChunks];  ///< is the feature valid?

  using Arguments = AttentionArguments<typename T::S>;

  __device__ explicit Place(const Arguments& a) : Place(T::kLanes * a.side) {
    const int thread = static_cast<int>(threadIdx.x);
    head = a.first_head + static_cast<int>(blockIdx.y) * a.side + thread % group_lanes / T::kLanes;
    has_head = head < a.heads;
#pragma unroll
    for (int c = 0; c < T::kChunks; ++c) valid[c] = has_head && (c * T::kLanes + t) * T::kVector < a.width;
    feature = head * a.width + t * T::kVector;
    read_feature = valid[0] ? feature : has_head ? head * a.width : 0;
  }
  /// For passes independent of heads: blockIdx.y counts slabs as wide as a group of lanes, from first_head's
  /// first feature to `end_head`'s.
  __device__ Place(const Arguments& a, int end_head) : Place(T::kLanes) {
    static_assert(T::kChunks == 1);
    feature = a.first_head * a.width + (static_cast<int>(blockIdx.y) * T::kLanes + t) * T::kVector;
    has_head = valid[0] = feature < end_head * a.width;
    head = feature / a.width;
    read_feature = has_head ? feature : 0;
  }

 private:
  __device__ explicit Place(int lanes)
      : t(static_cast<int>(threadIdx.x) % T::kLanes),
        group(static_cast<int>(threadIdx.x) / lanes),
        groups(static_cast<int>(blockDim.x) / lanes),
        group_lanes(lanes) {}
};

/// Features packed in whole words as in memory: the compiler would give each half of a word a register.
template <class S, int N>
class Gathered {
  static constexpr int kBytes = static_cast<int>(sizeof(S)) * N, kWords = kBytes < 4 ? 1 : kBytes / 4;

 public:
  /// Reads if `wanted`; else the old value stays and must not be used. kOnce: not reused soon, so keep L2 for
  /// gathered rows.
  template <bool kOnce = false>
  __device__ __forceinline__ void read_if(bool wanted, const char* source) {
    const int p = wanted;
    if constexpr (kBytes == 16 && kOnce) {
      asm("{ .reg .pred p; setp.ne.s32 p, %5, 0; @p ld.global.cs.nc.v4.u32 {%0, %1, %2, %3}, [%4]; }"
          : "=r"(words_[0]), "=r"(words_[1]), "=r"(words_[2]), "=r"(words_[3])
          : "l"(source), "r"(p));
    } else if constexpr (kBytes == 16) {
      asm("{ .reg .pred p; setp.ne.s32 p, %5, 0; @p ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4]; }"
          : "=r"(words_[0]), "=r"(words_[1]), "=r"(words_[2]), "=r"(words_[3])
          : "l"(source), "r"(p));
    } else if constexpr (kBytes == 8) {
      asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.nc.v2.u32 {%0, %1}, [%2]; }"
          : "=r"(words_[0]), "=r"(words_[1])
          : "l"(source), "r"(p));
    } else if constexpr (kBytes == 4) {
      asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.u32 %0, [%1]; }"
          : "=r"(words_[0])
          : "l"(source), "r"(p));
    } else {
      static_assert(kBytes == 2);
      uint16_t half;
      asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.u16 %0, [%1]; }"
          : "=h"(half)
          : "l"(source), "r"(p));
      words_[0] = half;
    }
  }
  __device__ __forceinline__ Accumulator<S> operator[](int v) const {
    if constexpr (sizeof(S) == 8)
      return __hiloint2double(static_cast<int>(words_[2 * v + 1]), static_cast<int>(words_[2 * v]));
    else if constexpr (sizeof(S) == 4)
      return __uint_as_float(words_[v]);
    else if constexpr (std::is_same_v<S, float16>)
      return v % 2 == 0 ? lower_half(words_[v / 2]) : upper_half(words_[v / 2]);
    else
      return __uint_as_float(v % 2 == 0 ? words_[v / 2] << 16 : words_[v / 2] & 0xffff0000u);
  }
  /// The same by another instruction, so that the compiler does not keep the earlier widened value, a
  /// register per half word.
  __device__ __forceinline__ Accumulator<S> again(int v) const {
    if constexpr (sizeof(S) != 2) return (*this)[v];
    uint32_t word;
    if constexpr (std::is_same_v<S, float16>) {
      asm("prmt.b32 %0, %1, 0, 0x1032;" : "=r"(word) : "r"(words_[v / 2]));  // swaps the halves
      return v % 2 == 0 ? upper_half(word) : lower_half(word);
    }
    if (v % 2 == 0)
      asm("prmt.b32 %0, %1, 0, 0x1044;" : "=r"(word) : "r"(words_[v / 2]));
    else
      asm("prmt.b32 %0, %1, 0, 0x3244;" : "=r"(word) : "r"(words_[v / 2]));
    return __uint_as_float(word);
  }

 private:
  uint32_t words_[kWords];
};

/// A lane's features of a row.
template <class T>
using RowFeatures = Gathered<typename T::S, T::kVector>[T::kChunks];
template <class T>
using WideFeatures = typename T::A[T::kChunks][T::kVector];

/// Address in a matrix of the lane's first feature to read.
template <class S>
__device__ __forceinline__ const char* rows_at(const S* matrix, int feature) {
  return reinterpret_cast<const char*>(matrix + feature);
}

/// Reads a row, if wanted, of a matrix that begins at `matrix` (rows_at). A lane without a feature reads the
/// head's first; its value is not used, as its own features are 0.
template <class T, bool kOnce = false>
__device__ __forceinline__ void gather(const char* matrix, int row, uint32_t pitch, bool wanted,
                                       const Place<T>& place, RowFeatures<T>& features) {
  const char* const address = row_address(matrix, row, pitch);
  constexpr int kStep = T::kLanes * T::kVector * static_cast<int>(sizeof(typename T::S));
#pragma unroll
  for (int c = 0; c < T::kChunks; ++c)
    features[c].template read_if<kOnce>(wanted, address + (c == 0 || place.valid[c] ? c * kStep : 0));
}
/// The same for the row being walked, which is read once.
template <class T>
__device__ __forceinline__ void gather_own(const char* matrix, int row, uint32_t pitch, bool wanted,
                                           const Place<T>& place, RowFeatures<T>& features) {
  gather<T, true>(matrix, row, pitch, wanted, place, features);
}
/// Widens a gathered row and multiplies it by `factor`; 0 if not wanted. The first use of gathered data,
/// which waits for memory.
template <class T>
__device__ __forceinline__ void widen_row(const RowFeatures<T>& row, bool wanted, const Place<T>& place,
                                          typename T::A factor, WideFeatures<T>& features) {
#pragma unroll
  for (int c = 0; c < T::kChunks; ++c)
#pragma unroll
    for (int v = 0; v < T::kVector; ++v)
      features[c][v] = wanted && place.valid[c] ? row[c][v] * factor : typename T::A(0);
}
template <class T, bool kOnce = false>
__device__ __forceinline__ void gather_wide(const char* matrix, int row, uint32_t pitch, bool wanted,
                                            const Place<T>& place, typename T::A factor,
                                            WideFeatures<T>& features) {
  RowFeatures<T> row_of;
  gather<T, kOnce>(matrix, row, pitch, wanted, place, row_of);
  widen_row<T>(row_of, wanted, place, factor, features);
}
template <class T>
__device__ __forceinline__ void clear(WideFeatures<T>& x) {
#pragma unroll
  for (int c = 0; c < T::kChunks; ++c)
#pragma unroll
    for (int v = 0; v < T::kVector; ++v) x[c][v] = typename T::A(0);
}
/// Rounded to S if `output` is a feature matrix, not for partial sums.
template <class T, class To>
__device__ __forceinline__ void scatter(To* output, const Place<T>& place, const WideFeatures<T>& x) {
#pragma unroll
  for (int c = 0; c < T::kChunks; ++c) {
    if (!place.valid[c]) continue;
    Pack<To, T::kVector> pack;
#pragma unroll
    for (int v = 0; v < T::kVector; ++v) pack[v] = narrow<To>(x[c][v]);
    To* const chunk = output + c * T::kLanes * T::kVector;
    if constexpr (sizeof(pack) <= 16)
      stream_pack<To, T::kVector>(reinterpret_cast<const char*>(chunk), pack);
    else  // partial sums of bfloat16 data, read again soon
      store(chunk, pack);
  }
}

/// Prefetches rows of upcoming entries into L2, across rows of the structure, so that memory stays busy while
/// a batch is computed: a row of two entries does not fill one. A lane prefetches one 128-byte line of the
/// group's heads, of one of kEntries entries.
template <class T>
class RowsAhead {
 public:
  using Arguments = AttentionArguments<typename T::S>;

  __device__ RowsAhead(const Arguments& a, const Place<T>& place, const typename T::S* matrix)
      : first_head_(a.first_head + static_cast<int>(blockIdx.y) * a.side) {
    const int lane = static_cast<int>(threadIdx.x) % place.group_lanes, line = lane / kEntries;
    const int bytes = min(a.side, a.heads - first_head_) * a.width * static_cast<int>(sizeof(typename T::S));
    entry_ = lane % kEntries;
    address_ = line * 128 < bytes ? rows_at(matrix, first_head_ * a.width) + line * 128 : nullptr;
  }
  __device__ void begin(const Arguments& a, const ItemWalk<>& walk) {
    next_ = walk.entry + T::kBatch;
    load(a, walk);
  }
  __device__ void ask(const Arguments& a, const ItemWalk<>& walk) {
    if (walk.entry + a.ahead <= next_) return;
    if (column_ >= 0) asm volatile("prefetch.global.L2 [%0];" ::"l"(row_address(address_, column_, a.pitch)));
    next_ += kEntries;
    load(a, walk);
  }

 private:
  static constexpr int kEntries = 4;

  __device__ void load(const Arguments& a, const ItemWalk<>& walk) {
    const int position = next_ + entry_;
    column_ = address_ != nullptr && position < walk.end_entry ? __ldg(a.indices + position) : -1;
  }

  int first_head_;
  int entry_, next_ = 0, column_ = -1;
  const char* address_;
};

/// Attention dropout decisions of a group's entries, drawn some entries ahead: each lane draws for one entry
/// and all heads of the group, 8 decisions per Philox block.
template <class T>
class KeptBits {
 public:
  /// Draws for entries from `entry` on, one per lane of the group. All lanes of the warp call it.
  __device__ void draw(const AttentionArguments<typename T::S>& a, const Place<T>& place, int entry,
                       int end_entry) {
    first_ = entry;
    bits_ = 0;
    const int lane_entry = entry + (static_cast<int>(threadIdx.x) & (place.group_lanes - 1));
    if (lane_entry >= end_entry) return;
    const int64_t edge = a.order == nullptr ? lane_entry : a.order[lane_entry];
    const int first_head = a.first_head + static_cast<int>(blockIdx.y) * a.side;
    for (int h = 0; h < a.side && first_head + h < a.heads;) {
      const int64_t position = edge * a.heads + first_head + h;
      const int skipped = static_cast<int>(position % 8);
      const uint32_t kept = a.dropout.template kept<8>(position - skipped) >> skipped;
      bits_ |= kept << h;
      h += 8 - skipped;
    }
  }
  /// Number of the next `count` entries whose decisions are available; draws more if none is left. All lanes
  /// of the warp call it.
  __device__ int drawn(const AttentionArguments<typename T::S>& a, const Place<T>& place,
                       const ItemWalk<>& walk, int count) {
    if (__any_sync(kAllLanes, walk.active() && walk.entry == end(place)))
      draw(a, place, walk.entry, walk.end_entry);
    return min(count, max(end(place) - walk.entry, 0));
  }
  /// Decision of a drawn entry for this lane's head. All lanes of the warp call it.
  __device__ bool kept(const AttentionArguments<typename T::S>& a, const Place<T>& place, int entry) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int mask = place.group_lanes - 1;  // a power of two
    const int source = (lane & ~mask) | ((entry - first_) & mask);
    const uint32_t bits = __shfl_sync(kAllLanes, bits_, source);
    return (bits >> (place.head & (a.side - 1))) & 1u;
  }

 private:
  __device__ int end(const Place<T>& place) const { return first_ + place.group_lanes; }

  int first_ = 0;
  uint32_t bits_ = 0;
};

}  // namespace adj::kernels::cuda
