#pragma once

// Attention forward: one pass over the rows with an online softmax (Milakov & Gimelshein 2018;
// FlashAttention, Dao et al. 2022). If a batch has a logit above the running maximum, the accumulators are
// rescaled; a warp vote detects this, so most batches of a long row skip it. Parts of split rows write their
// maximum logit, sum and weighted features to the workspace, and merge_attention merges them in order, those
// of very long rows by runs first, as in kernels/aggregate/cuda/spmm_merge.cuh.
//
// Bytes: entries x H D of values (and as many of keys, if these are other rows), 4 per entry for the column;
// rows x H D of the target features and of O; lse. Saved: lse and O.
//
// With a bias the pass is a separate kernel, as the registers of one branch at the row end cost GATv2 2 to 6
// %. In bfloat16 another op adds the bias: its rounding would affect every logit's gradient. Results bypass
// the caches, so that they do not evict gathered rows from L2. bfloat16 rows stay packed and are widened once
// for the logits and again for the sums: keeping them widened spilled registers.

#include <adjoint/kernels/aggregate/cuda/spmm_merge.cuh>
#include <adjoint/kernels/attention/cuda/lane_layout.cuh>

namespace adj::kernels::cuda {

template <class S>
struct ForwardArguments : AttentionArguments<S> {
  using A = Accumulator<S>;
  const S* target;  ///< q or l [rows, H D]
  const S* source;  ///< k, r or x [cols, H D]
  const S* value;   ///< v [cols, H D]; dot alone
  const S* att;     ///< [H,D]; gatv2
  const A* l;       ///< [rows,H]; gat
  const A* r;       ///< [cols,H]; gat
  const A* s;       ///< [cols,H], or null; keyed
  const A* c;       ///< [M,H] by edge number, added to the logits (gat: inside leaky_relu), or null
  const S* bias;    ///< [H D], added to O, or null
  A* logits;        ///< [M,H] by edge number: the logits, or null
  Result<S>* o;
  A* lse;
  A* partial;        ///< [slots, H D]
  A* partial_stats;  ///< [slots, H, 2]: maximum logit and sum
};

template <class T>
constexpr int kForwardBlocks = blocks_for_registers<T>(T::kBatch* T::kVector <= 8     ? 64
                                                       : T::kBatch * T::kVector <= 16 ? 80
                                                       : T::kBatch * T::kVector <= 32 &&
                                                               sizeof(typename T::S) == 2
                                                           ? 102
                                                           : 128);

template <class T, class Score, bool kEdges, bool kBias>
__global__ void __launch_bounds__(T::kThreads, kForwardBlocks<T>)
    attention_forward(const __grid_constant__ ForwardArguments<typename T::S> a) {
  using S = typename T::S;
  using A = typename T::A;
  constexpr int kBatch = T::kBatch, kOwned = T::kOwned, kChunks = T::kChunks, kVector = T::kVector;
  begin_overlapping();
  const Place<T> place(a);
  ItemWalk<> walk;
  walk.begin(a, static_cast<int>(blockIdx.x) * place.groups + place.group);
  const int feature = place.feature, read = place.read_feature;
  const char* const source = rows_at(a.source, read);
  const char* const value = Score::kValues ? rows_at(a.value, read) : nullptr;
  const char* const target = Score::kRows ? rows_at(a.target, read) : nullptr;

  const bool drops = a.dropout.threshold != 0;

  WideFeatures<T> row;  // q times the logit scale, or -l
  WideFeatures<T> att;
  A own_term = 0;
  if constexpr (Score::kAtt) gather_wide<T>(rows_at(a.att, read), 0, 0, true, place, kLog2E<A>, att);
  auto begin_row = [&] {
    const bool has_entries = walk.active() && walk.entry < walk.row_end;
    if constexpr (Score::kRows)
      gather_wide<T, true>(target, walk.row, a.pitch, has_entries, place,
                           Score::target_factor(a) * a.product_scale(), row);
    else
      own_term = has_entries && place.has_head ? a.l[int64_t{walk.row} * a.heads + place.head] : A(0);
  };

  WideFeatures<T> sum;
  A largest = lowest<A>(), total = 0;
  int row_begin = walk.entry;
  clear<T>(sum);
  begin_row();

  RowsAhead<T> ahead(a, place, a.source);
  if (kAsksAhead<T, Score> && a.ahead > 0) ahead.begin(a, walk);
  KeptBits<T> bits;
  if (drops) bits.draw(a, place, walk.entry, walk.end_entry);
  int column[kBatch];
  load_columns<T>(a.indices, walk.entry, walk.end_entry, column);

  while (__any_sync(kAllLanes, walk.active())) {
    int count = walk.active() ? min(kBatch, walk.row_end - walk.entry) : 0;
    if (drops) count = bits.drawn(a, place, walk, count);
    RowFeatures<T> row_of[kBatch];
    [[maybe_unused]] RowFeatures<T> value_of[Score::kValues ? kBatch : 1];
#pragma unroll
    for (int u = 0; u < kBatch; ++u) gather<T>(source, column[u], a.pitch, u < count, place, row_of[u]);
    if constexpr (Score::kValues) {
#pragma unroll
      for (int u = 0; u < kBatch; ++u) gather<T>(value, column[u], a.pitch, u < count, place, value_of[u]);
    }

    if (kAsksAhead<T, Score> && a.ahead > 0) ahead.ask(a, walk);

    // Entries owned by this lane.
    A logit[kBatch];
    A term[kOwned] = {};
    int64_t edge[kOwned];
    bool is_entry[kOwned];
#pragma unroll
    for (int k = 0; k < kOwned; ++k) {
      const int slot = owned_slot<T>(place.t, k);
      is_entry[k] = slot < count && place.has_head;
      edge[k] = 0;
      if (!is_entry[k]) continue;
      const int entry = walk.entry + slot;
      if (kEdges)
        edge[k] = int64_t{a.order == nullptr ? entry : __ldg(a.order + entry)} * a.heads + place.head;
      if constexpr (Score::kTerms) {
        const A* const of_source = Score::terms(a);
        if (of_source != nullptr)
          term[k] = __ldg(of_source + int64_t{__ldg(a.indices + entry)} * a.heads + place.head);
        else
          term[k] = A(1);
      }
    }
    load_columns<T>(a.indices, walk.entry + count, walk.end_entry, column);

    if constexpr (Score::kRows) {
#pragma unroll
      for (int u = 0; u < kBatch; ++u) {
        A linear = 0, above = 0;
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
#pragma unroll
          for (int v = 0; v < kVector; ++v) {
            const A x = row_of[u][c][v];
            if constexpr (Score::kAtt) linear = fma(att[c][v], x, linear);
            above = Score::logit(above, x, row[c][v], att[c][v]);
          }
        logit[u] = Score::kAtt ? fma(a.slope, linear, (A(1) - a.slope) * above) : above;
      }
      sum_and_own<T>(logit, place.t);
      if (kEdges && a.c != nullptr) {
#pragma unroll
        for (int k = 0; k < kOwned; ++k)
          if (is_entry[k]) logit[k] += a.c[edge[k]] * kLog2E<A>;
      }
    } else {
#pragma unroll
      for (int k = 0; k < kOwned; ++k) {
        A z = own_term + term[k];
        if (kEdges && a.c != nullptr && is_entry[k]) z += a.c[edge[k]];
        logit[k] = Score::logit(z, a.slope);
      }
    }

    if (kEdges && a.logits != nullptr && place.t % T::kShare == 0) {
#pragma unroll
      for (int k = 0; k < kOwned; ++k)
        if (is_entry[k]) a.logits[edge[k]] = logit[k] / Score::template kUnit<A>;
    }

    A batch_largest = lowest<A>();
#pragma unroll
    for (int k = 0; k < kOwned; ++k)
      if (is_entry[k] && logit[k] > batch_largest) batch_largest = logit[k];
    if (__any_sync(kAllLanes, batch_largest > largest)) {
      batch_largest = largest_of_owned<T>(batch_largest);
      if (batch_largest > largest) {
        const A factor = Score::power(largest - batch_largest);
        largest = batch_largest;
        total *= factor;
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
#pragma unroll
          for (int v = 0; v < kVector; ++v) sum[c][v] *= factor;
      }
    }
    A weight[kBatch];
#pragma unroll
    for (int k = 0; k < kOwned; ++k) {
      weight[k] = is_entry[k] ? Score::power(logit[k] - largest) : A(0);
      total += weight[k];
      if constexpr (Score::kScaled) weight[k] *= is_entry[k] ? term[k] : A(0);
    }
    if (drops) {
#pragma unroll
      for (int k = 0; k < kOwned; ++k) {
        const bool kept = bits.kept(a, place, walk.entry + owned_slot<T>(place.t, k));
        weight[k] = kept ? weight[k] * a.kept_scale : A(0);
      }
    }
#pragma unroll
    for (int u = 0; u < kBatch; ++u) {
      const A w = owned_by<T>(weight, u);
      const bool is_row = u < count;
#pragma unroll
      for (int c = 0; c < kChunks; ++c)
#pragma unroll
        for (int v = 0; v < kVector; ++v) {
          const A x = Score::kValues ? value_of[u][c][v] : row_of[u][c].again(v);
          if (is_row) sum[c][v] = fma(w, x, sum[c][v]);
        }
    }

    walk.entry += count;
    const bool ended = walk.active() && walk.entry == walk.row_end;
    if (!__any_sync(kAllLanes, ended)) continue;
    const A row_total = sum_of_owned<T>(total);
    if (!ended) continue;
    if (walk.part) {
      scatter<T>(a.partial + int64_t{walk.slot} * a.heads * a.width + feature, place, sum);
      if (place.t == 0 && place.has_head) {
        A* const stats = a.partial_stats + (int64_t{walk.slot} * a.heads + place.head) * 2;
        stats[0] = largest;
        stats[1] = row_total;
      }
    } else {
      const bool empty = row_begin == walk.row_end;
      const A factor = empty ? A(0) : A(1) / row_total;
#pragma unroll
      for (int c = 0; c < kChunks; ++c)
#pragma unroll
        for (int v = 0; v < kVector; ++v) sum[c][v] *= factor;
      if constexpr (kBias) {
        WideFeatures<T> bias;
        gather_wide<T>(rows_at(a.bias, read), 0, 0, true, place, A(1), bias);
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
#pragma unroll
          for (int v = 0; v < kVector; ++v) sum[c][v] += bias[c][v];
      }
      scatter<T>(a.o + int64_t{walk.row} * a.heads * a.width + feature, place, sum);
      if (place.t == 0 && place.has_head)
        a.lse[int64_t{walk.row} * a.heads + place.head] =
            empty ? A(0) : largest / Score::template kUnit<A> + log(row_total);
    }
    walk.next_row(a);
    row_begin = walk.entry;
    largest = lowest<A>();
    total = 0;
    clear<T>(sum);
    begin_row();
  }
}

/// Partial softmax of a row, for one feature.
template <class A>
struct AttentionSum {
  A largest;  ///< logit
  A total;    ///< of the exponentials, relative to it
  A sum;      ///< of the weighted feature, relative to it

  static __device__ __forceinline__ AttentionSum none() { return {lowest<A>(), A(0), A(0)}; }

  /// Several at once: a serial chain of exponentials would dominate the merge.
  template <class Score, int N>
  __device__ __forceinline__ void add(const AttentionSum (&parts)[N]) {
    A above = largest;
#pragma unroll
    for (int u = 0; u < N; ++u) above = parts[u].largest > above ? parts[u].largest : above;
    const A factor = Score::power(largest - above);
    largest = above;
    total *= factor;
    sum *= factor;
#pragma unroll
    for (int u = 0; u < N; ++u) {
      const A of_part = Score::power(parts[u].largest - largest);
      total = fma(parts[u].total, of_part, total);
      sum = fma(parts[u].sum, of_part, sum);
    }
  }
};

/// Parts of split rows, or runs of them.
template <class A>
struct AttentionParts {
  A* sums;   ///< [parts, H D]
  A* stats;  ///< [parts, H, 2]: maximum logit and sum
};

/// Merges `count` parts from `begin` on by a block, one lane per feature: each warp merges a contiguous share
/// in order, then the first warp merges the shares in order and holds the result. All threads call it once;
/// those beyond the features get nothing.
template <class Score, class A>
__device__ __forceinline__ AttentionSum<A> merge_attention_parts(const AttentionParts<A>& parts, int heads,
                                                                 int width, int feature, int begin,
                                                                 int count) {
  __shared__ AttentionSum<A> shares[kMergeWarps][32];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t features = int64_t{heads} * width;
  AttentionSum<A> row = AttentionSum<A>::none();
  if (feature < features) {
    const int head = feature / width;
    const int end = begin + share_begin(count, warp + 1);
    const auto part_at = [&](int64_t index) {
      const Pack<A, 2> stats = load<2>(parts.stats + (index * heads + head) * 2);
      return AttentionSum<A>{stats[0], stats[1], parts.sums[index * features + feature]};
    };
    begin += share_begin(count, warp);
    if (end - begin == 1) {
      row = part_at(begin);  // as in most split rows: nothing to scale
    } else {
      for (int first = begin; first < end; first += kSlotsAtOnce) {
        AttentionSum<A> part[kSlotsAtOnce];
#pragma unroll
        for (int u = 0; u < kSlotsAtOnce; ++u) part[u] = part_at(min(first + u, end - 1));
#pragma unroll
        for (int u = 1; u < kSlotsAtOnce; ++u)
          if (first + u >= end) part[u] = AttentionSum<A>::none();
        row.template add<Score>(part);
      }
    }
  }
  shares[warp][lane] = row;
  __syncthreads();
  if (warp != 0) return row;
  AttentionSum<A> share[kMergeWarps];
#pragma unroll
  for (int w = 0; w < kMergeWarps; ++w) share[w] = shares[w][lane];
  row = AttentionSum<A>::none();
  row.template add<Score>(share);
  return row;
}

/// Merges runs of slots of very long rows into parts of `runs`: one block per run and 32 features. `count` is
/// the number of runs.
template <class Score, class A>
__global__ void __launch_bounds__(32 * kMergeWarps, kMergeBlocks<A>)
    merge_attention_runs(const SlotRun* list, const int64_t* count, int heads, int width,
                         AttentionParts<A> slots, AttentionParts<A> runs) {
  begin_overlapping();
  if (static_cast<int64_t>(blockIdx.x) >= *count) return;
  const SlotRun run = list[blockIdx.x];
  const int feature = static_cast<int>(blockIdx.y * 32 + threadIdx.x % 32);
  const AttentionSum<A> merged =
      merge_attention_parts<Score>(slots, heads, width, feature, run.begin, run.end - run.begin);
  if (threadIdx.x >= 32 || feature >= heads * width) return;
  runs.sums[int64_t{blockIdx.x} * heads * width + feature] = merged.sum;
  if (feature % width == 0)
    store(runs.stats + (int64_t{blockIdx.x} * heads + feature / width) * 2,
          Pack<A, 2>{merged.largest, merged.total});
}

/// O and lse of the rows split by the plan: one block per row and 32 features, across heads. `count` is the
/// number of rows.
template <class S, class Score>
__global__ void __launch_bounds__(32 * kMergeWarps, kMergeBlocks<Accumulator<S>>)
    merge_attention(const HeavyRow* heavy, const int64_t* count,
                    const __grid_constant__ ForwardArguments<S> a, AttentionParts<Accumulator<S>> runs) {
  using A = Accumulator<S>;
  begin_overlapping();
  if (static_cast<int64_t>(blockIdx.x) >= *count) return;
  const HeavyRow row = heavy[blockIdx.x];
  const RowParts parts(row, heavy[blockIdx.x + 1]);
  const int feature = static_cast<int>(blockIdx.y * 32 + threadIdx.x % 32);
  const AttentionParts<A> input{parts.runs ? runs.sums : a.partial,
                                parts.runs ? runs.stats : a.partial_stats};
  const AttentionSum<A> merged =
      merge_attention_parts<Score>(input, a.heads, a.width, feature, parts.begin, parts.count);
  if (threadIdx.x >= 32 || feature >= a.heads * a.width) return;
  const A bias = a.bias == nullptr ? A(0) : A(widen(a.bias[feature]));
  a.o[int64_t{row.row} * a.heads * a.width + feature] = narrow<Result<S>>(merged.sum / merged.total + bias);
  if (feature % a.width == 0)
    a.lse[int64_t{row.row} * a.heads + feature / a.width] =
        merged.largest / Score::template kUnit<A> + log(merged.total);
}

}  // namespace adj::kernels::cuda
