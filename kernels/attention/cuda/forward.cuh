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
// With a bias the pass is a separate kernel, as the registers of one branch at the row end cost scores with
// att 2 to 6 %. In bfloat16 another op adds the bias: its rounding would affect every logit's gradient.
// Results bypass the caches, so that they do not evict gathered rows from L2. bfloat16 rows stay packed and
// are widened once for the logits and again for the sums: keeping them widened spilled registers.

#include <adjoint/kernels/aggregate/cuda/spmm_merge.cuh>
#include <adjoint/kernels/attention/cuda/row_pass.cuh>

namespace adj::kernels::cuda {

template <class S>
struct ForwardArguments : AttentionArguments<S> {
  using A = Accumulator<S>;
  const S* target;  ///< q or l [rows, H D]
  const S* source;  ///< k, r or x [cols, H D]
  const S* value;   ///< v [cols, H D]; dot alone
  const S* att;     ///< [H,D]; scores with att
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
class ForwardPass : RowPass<T, Score, kEdges, ForwardArguments<typename T::S>> {
  using Base = RowPass<T, Score, kEdges, ForwardArguments<typename T::S>>;
  using Base::a, Base::place, Base::walk, Base::count, Base::edge, Base::is_entry, Base::kBatch, Base::kOwned,
      Base::for_each_feature;
  using typename Base::A;

 public:
  __device__ __forceinline__ explicit ForwardPass(const ForwardArguments<typename T::S>& arguments)
      : Base(arguments),
        source(rows_at(a.source, place.read_feature)),
        value(Score::kValues ? rows_at(a.value, place.read_feature) : nullptr),
        target(Score::kRows ? rows_at(a.target, place.read_feature) : nullptr),
        ahead(a, place, a.source) {}

  __device__ __forceinline__ void run() {
    walk.begin(a, this->first_item());
    if constexpr (Score::kAtt)
      gather_wide<T>(rows_at(a.att, place.read_feature), 0, 0, true, place, kLog2E<A>, att);
    begin_row();
    if (kAsksAhead<T, Score> && a.ahead > 0) ahead.begin(a, walk);
    this->begin_entries();
    while (__any_sync(kAllLanes, walk.active())) {
      this->begin_batch();
      Batch batch;
      gather_batch(batch);
      find_logits(batch);
      raise_largest(batch);
      weigh(batch);
      add_rows(batch);
      const bool ended = this->advance();
      if (!__any_sync(kAllLanes, ended)) continue;
      const A row_total = sum_of_owned<T>(total);
      if (!ended) continue;
      leave_row(row_total);
      walk.next_row(a);
      begin_row();
    }
  }

 private:
  /// Rows; of owned entries the sources' terms and logits, then weights.
  struct Batch {
    RowFeatures<T> row_of[kBatch], value_of[Score::kValues ? kBatch : 1];
    A term[kOwned] = {}, logit[kBatch];
  };

  __device__ __forceinline__ void begin_row() {
    const bool has_entries = walk.active() && walk.entry < walk.row_end;
    if constexpr (Score::kRows)
      gather_wide<T, true>(target, walk.row, a.pitch, has_entries, place,
                           Score::target_factor(a) * a.product_scale(), row);
    else
      own_term = has_entries && place.has_head ? a.l[int64_t{walk.row} * a.heads + place.head] : A(0);
    row_begin = walk.entry;
    largest = lowest<A>();
    total = 0;
    clear<T>(sum);
  }

  /// Requests the batch's rows, the sources' terms and the next columns.
  __device__ __forceinline__ void gather_batch(Batch& batch) {
    this->gather_rows(source, batch.row_of);
    if constexpr (Score::kValues) this->gather_rows(value, batch.value_of);
    if (kAsksAhead<T, Score> && a.ahead > 0) ahead.ask(a, walk);
    this->own_entries([&](int k, int entry) {
      if constexpr (Score::kTerms) batch.term[k] = this->source_term(entry);
    });
  }

  __device__ __forceinline__ void find_logits(Batch& batch) {
    if constexpr (Score::kRows) {
#pragma unroll
      for (int u = 0; u < kBatch; ++u) {
        A linear = 0, above = 0;
        for_each_feature([&](int c, int v) {
          const A x = batch.row_of[u][c][v];
          if constexpr (Score::kAtt) linear = fma(att[c][v], x, linear);
          above = Score::logit(above, x, row[c][v], att[c][v]);
        });
        batch.logit[u] = Score::kAtt ? fma(a.slope, linear, (A(1) - a.slope) * above) : above;
      }
      sum_and_own<T>(batch.logit, place.t);
    }
#pragma unroll
    for (int k = 0; k < kOwned; ++k) this->complete_logit(k, own_term, batch.term[k], batch.logit[k]);
    if (kEdges && a.logits != nullptr && place.t % T::kShare == 0) {
#pragma unroll
      for (int k = 0; k < kOwned; ++k)
        if (is_entry[k]) a.logits[edge[k]] = batch.logit[k] / Score::template kUnit<A>;
    }
  }

  /// Rescales the sums if the batch has a larger logit.
  __device__ __forceinline__ void raise_largest(const Batch& batch) {
    A batch_largest = lowest<A>();
#pragma unroll
    for (int k = 0; k < kOwned; ++k)
      if (is_entry[k] && batch.logit[k] > batch_largest) batch_largest = batch.logit[k];
    if (__any_sync(kAllLanes, batch_largest > largest)) {
      batch_largest = largest_of_owned<T>(batch_largest);
      if (batch_largest > largest) {
        const A factor = Score::power(largest - batch_largest);
        largest = batch_largest;
        total *= factor;
        for_each_feature([&](int c, int v) { sum[c][v] *= factor; });
      }
    }
  }

  /// Logits to weights.
  __device__ __forceinline__ void weigh(Batch& batch) {
#pragma unroll
    for (int k = 0; k < kOwned; ++k) {
      batch.logit[k] = is_entry[k] ? Score::power(batch.logit[k] - largest) : A(0);
      total += batch.logit[k];
      if constexpr (Score::kScaled) batch.logit[k] *= is_entry[k] ? batch.term[k] : A(0);
    }
    if (!this->drops) return;
    bool kept[kOwned];
    this->read_kept(kept);
#pragma unroll
    for (int k = 0; k < kOwned; ++k) batch.logit[k] = kept[k] ? batch.logit[k] * a.kept_scale : A(0);
  }

  __device__ __forceinline__ void add_rows(const Batch& batch) {
#pragma unroll
    for (int u = 0; u < kBatch; ++u) {
      const A weight = owned_by<T>(batch.logit, u);
      const bool is_row = u < count;
      for_each_feature([&](int c, int v) {
        const A x =
            Score::kValues ? batch.value_of[Score::kValues ? u : 0][c][v] : batch.row_of[u][c].again(v);
        if (is_row) sum[c][v] = fma(weight, x, sum[c][v]);
      });
    }
  }

  __device__ __forceinline__ void leave_row(A row_total) {
    if (walk.part) {
      scatter<T>(a.partial + int64_t{walk.slot} * a.heads * a.width + place.feature, place, sum);
      if (place.t == 0 && place.has_head) {
        A* const stats = a.partial_stats + (int64_t{walk.slot} * a.heads + place.head) * 2;
        stats[0] = largest;
        stats[1] = row_total;
      }
      return;
    }
    const bool empty = row_begin == walk.row_end;
    const A factor = empty ? A(0) : A(1) / row_total;
    for_each_feature([&](int c, int v) { sum[c][v] *= factor; });
    if constexpr (kBias) {
      WideFeatures<T> bias;
      gather_wide<T>(rows_at(a.bias, place.read_feature), 0, 0, true, place, A(1), bias);
      for_each_feature([&](int c, int v) { sum[c][v] += bias[c][v]; });
    }
    scatter<T>(a.o + int64_t{walk.row} * a.heads * a.width + place.feature, place, sum);
    if (place.t == 0 && place.has_head)
      a.lse[int64_t{walk.row} * a.heads + place.head] =
          empty ? A(0) : largest / Score::template kUnit<A> + log(row_total);
  }

  const char *source, *value, *target;
  RowsAhead<T> ahead;
  // The target: q times the logit scale, -l, or gat's term; its first entry in the item and its results.
  WideFeatures<T> row, att, sum;
  A own_term = 0, largest, total;
  int row_begin;
};

template <class T, class Score, bool kEdges, bool kBias>
__global__ void __launch_bounds__(T::kThreads, kForwardBlocks<T>)
    attention_forward(const __grid_constant__ ForwardArguments<typename T::S> a) {
  begin_overlapping();
  ForwardPass<T, Score, kEdges, kBias>(a).run();
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
