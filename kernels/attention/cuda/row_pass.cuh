#pragma once

// What the passes over rows share. A pass is a class with a phase per step of a batch: read the columns'
// rows, find the logits, turn them into weights or gradients, add the rows, and end the row. All lanes of a
// warp run each phase together.

#include <adjoint/kernels/attention/cuda/lane_layout.cuh>

namespace adj::kernels::cuda {

/// A group of lanes at a batch of entries of one row. `Arguments` is derived from AttentionArguments.
template <class T, class Score, bool kEdges, class Arguments>
class RowPass {
 protected:
  using S = typename T::S;
  using A = typename T::A;
  static constexpr int kBatch = T::kBatch, kOwned = T::kOwned, kChunks = T::kChunks, kVector = T::kVector;

  __device__ __forceinline__ explicit RowPass(const Arguments& arguments)
      : a(arguments), place(arguments), drops(arguments.dropout.threshold != 0) {}

  __device__ __forceinline__ int first_item() const {
    return static_cast<int>(blockIdx.x) * place.groups + place.group;
  }
  /// The item's first dropout decisions and columns.
  __device__ __forceinline__ void begin_entries() {
    bits = {};
    if (drops) bits.draw(a, place, walk.entry, walk.end_entry);
    load_columns<T>(a.indices, walk.entry, walk.end_entry, column);
  }
  __device__ __forceinline__ void begin_batch() {
    count = walk.active() ? min(kBatch, walk.row_end - walk.entry) : 0;
    if (drops) count = bits.drawn(a, place, walk, count);
  }
  /// Requests the rows of the batch's columns.
  __device__ __forceinline__ void gather_rows(const char* matrix, RowFeatures<T> (&rows)[kBatch]) const {
#pragma unroll
    for (int u = 0; u < kBatch; ++u) gather<T>(matrix, column[u], a.pitch, u < count, place, rows[u]);
  }
  /// Finds which entries this lane owns and their edges, calls load(k, entry) for each, and requests the next
  /// batch's columns.
  template <class Load>
  __device__ __forceinline__ void own_entries(Load&& load) {
#pragma unroll
    for (int k = 0; k < kOwned; ++k) {
      const int slot = owned_slot<T>(place.t, k), entry = walk.entry + slot;
      is_entry[k] = slot < count && place.has_head;
      edge[k] = 0;
      if (!is_entry[k]) continue;
      if (kEdges)
        edge[k] = int64_t{a.order == nullptr ? entry : __ldg(a.order + entry)} * a.heads + place.head;
      load(k, entry);
    }
    load_columns<T>(a.indices, walk.entry + count, walk.end_entry, column);
  }
  /// The source's term of an entry.
  __device__ __forceinline__ A source_term(int entry) const {
    const A* const terms = Score::terms(a);
    if (terms == nullptr) return A(1);
    return __ldg(terms + int64_t{__ldg(a.indices + entry)} * a.heads + place.head);
  }
  /// Completes an owned logit: adds its edge's term; GAT's is the sum of the terms of its row and column,
  /// through leaky_relu, whose slope is returned.
  __device__ __forceinline__ A complete_logit(int k, A row_term, A column_term, A& logit) const {
    if constexpr (Score::kRows) {
      if (kEdges && a.c != nullptr && is_entry[k]) logit = fma(a.c[edge[k]], kLog2E<A>, logit);
      return A(1);
    } else {
      A z = row_term + column_term;
      if (kEdges && a.c != nullptr && is_entry[k]) z += a.c[edge[k]];
      const A slope = leaky_slope(z, a.slope);
      logit = slope * z;
      return slope;
    }
  }
  /// Dropout's decisions for the owned entries.
  __device__ __forceinline__ void read_kept(bool (&kept)[kOwned]) const {
    if (!drops) return;
#pragma unroll
    for (int k = 0; k < kOwned; ++k) kept[k] = bits.kept(a, place, walk.entry + owned_slot<T>(place.t, k));
  }
  /// Moves on; whether the row has ended.
  __device__ __forceinline__ bool advance() {
    walk.entry += count;
    return walk.active() && walk.entry == walk.row_end;
  }
  /// Calls f(c, v) for the lane's features.
  template <class F>
  static __device__ __forceinline__ void for_each_feature(F&& f) {
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
#pragma unroll
      for (int v = 0; v < kVector; ++v) f(c, v);
  }
  /// Writes a row of features to `output`, or of a part to `partial`.
  template <class To>
  __device__ __forceinline__ void leave_features(To* output, A* partial, const WideFeatures<T>& x) const {
    if (walk.part)
      scatter<T>(partial + int64_t{walk.slot} * a.heads * a.width + place.feature, place, x);
    else
      scatter<T>(output + int64_t{walk.row} * a.heads * a.width + place.feature, place, x);
  }

  const Arguments a;  ///< a copy: the compiler then reads the parameters where it needs them
  const Place<T> place;
  const bool drops;
  ItemWalk<> walk;
  KeptBits<T> bits;
  int count = 0;         ///< entries of the batch
  int column[kBatch];    ///< of the batch, until its rows are requested; then of the next
  int64_t edge[kOwned];  ///< of owned entries, times the heads
  bool is_entry[kOwned];
};

}  // namespace adj::kernels::cuda
