#pragma once

// Backward pass by source over the transposed structure, when the target pass has kept m α and de of every
// (entry, head): two numbers per edge in a buffer that lives for the call. No logits are recomputed, no lane
// reductions, no dropout draws: it gathers rows of dO and of q or l and accumulates weighted sums like an
// SpMM, in half the registers. It works on slabs of a row, across heads. Used for scores of rows without
// terms: gat's logits are free to recompute, and `keyed`'s ds is a sum over a head.
//
// Bytes: entries x H D of dO and of q or l, columns x H D of r and of the results; 2 numbers per entry and
// slab, at random addresses.
//
// Slabs are 512 bytes of a row. 128 are slower: more groups share a warp, and the warp executes the row end
// of each.

#include <adjoint/kernels/attention/cuda/backward.cuh>

namespace adj::kernels::cuda {

template <class Score>
constexpr bool kFromEdges = Score::kRows && !Score::kTerms;

/// Edge numbers of a batch's entries, like load_columns.
template <class T>
__device__ __forceinline__ void load_edges(const int32_t* order, int first, int end, int (&edge)[T::kBatch]) {
#pragma unroll
  for (int u = 0; u < T::kBatch; ++u)
    edge[u] = order == nullptr ? first + u : first + u < end ? __ldg(order + first + u) : 0;
}

/// Zeros if not wanted. Bypasses L1: when heads are processed in groups, the buffer is rewritten while the
/// previous kernel may still run.
template <class A>
__device__ __forceinline__ EdgeGradient<A> load_kept(const EdgeGradient<A>* source, bool wanted) {
  using W = typename Word<sizeof(EdgeGradient<A>)>::type;
  EdgeGradient<A> kept;
  if (!wanted) return kept;
  const W word = __ldcg(reinterpret_cast<const W*>(source));
  memcpy(&kept, &word, sizeof(word));
  return kept;
}

template <class T, class Score>
constexpr int kFromEdgesBlocks = blocks_for_registers<T>(T::kBatch* T::kVector <= 8     ? 64
                                                         : T::kBatch * T::kVector <= 16 ? 80
                                                                                        : 128);

template <class T, class Score>
__global__ void __launch_bounds__(T::kThreads, kFromEdgesBlocks<T, Score>)
    attention_from_edges(const __grid_constant__ BackwardArguments<typename T::S> a) {
  using S = typename T::S;
  using A = typename T::A;
  constexpr int kBatch = T::kBatch, kVector = T::kVector;
  static_assert(kFromEdges<Score> && T::kChunks == 1);
  begin_overlapping();
  const Place<T> place(a, min(a.heads, a.first_head + a.kept_heads));
  const char* const outputs = rows_at(a.d_o, place.read_feature);
  const char* const target = rows_at(a.target, place.read_feature);
  const int kept_head = place.has_head ? place.head - a.first_head : 0;
  const EdgeGradient<A>* const of_head =
      a.kept + kept_head / a.side * (a.entries * a.side) + kept_head % a.side;
  WideFeatures<T> att, d_att;
  clear<T>(att);
  clear<T>(d_att);

  const int step = static_cast<int>(gridDim.x) * place.groups;
  const int first_item = static_cast<int>(blockIdx.x) * place.groups + place.group;
  for (int item = first_item; __any_sync(kAllLanes, item < a.items); item += step) {
    ItemWalk<> walk;
    walk.begin(a, item);
    WideFeatures<T> row;      // r
    WideFeatures<T> weighed;  // Σ m α dO
    WideFeatures<T> turned;   // Σ de q, or Σ de [z > 0]
    A term = 0;               // Σ de
    clear<T>(row);
    RowFeatures<T> own_asked;  // used only after the row's first entries are requested as well
    bool is_new = true;
    auto begin_row = [&] {
      if constexpr (Score::kAtt)
        gather_own<T>(rows_at(a.source, place.read_feature), walk.row, a.pitch, walk.active(), place,
                      own_asked);
      is_new = true;
      term = 0;
      clear<T>(weighed);
      clear<T>(turned);
    };
    begin_row();
    int column[kBatch], edge[kBatch];
    load_columns<T>(a.indices, walk.entry, walk.end_entry, column);
    load_edges<T>(a.order, walk.entry, walk.end_entry, edge);

    while (__any_sync(kAllLanes, walk.active())) {
      const int count = walk.active() ? min(kBatch, walk.row_end - walk.entry) : 0;
      RowFeatures<T> d_o[kBatch];
      RowFeatures<T> row_of[kBatch];
      EdgeGradient<A> kept[kBatch];
#pragma unroll
      for (int u = 0; u < kBatch; ++u) kept[u] = load_kept(of_head + int64_t{edge[u]} * a.side, u < count);
#pragma unroll
      for (int u = 0; u < kBatch; ++u) gather<T>(outputs, column[u], a.pitch, u < count, place, d_o[u]);
#pragma unroll
      for (int u = 0; u < kBatch; ++u) gather<T>(target, column[u], a.pitch, u < count, place, row_of[u]);
      load_columns<T>(a.indices, walk.entry + count, walk.end_entry, column);
      load_edges<T>(a.order, walk.entry + count, walk.end_entry, edge);
      if (Score::kAtt && is_new) {
        widen_row<T>(own_asked, walk.active(), place, A(1), row);
        is_new = false;
      }
#pragma unroll
      for (int u = 0; u < kBatch; ++u) {
        const A w = kept[u].weight, d = kept[u].logit;
        const bool is_row = u < count;
        if (Score::kAtt) term += d;
#pragma unroll
        for (int v = 0; v < kVector; ++v) {
          if (is_row) weighed[0][v] = fma(w, d_o[u][0][v], weighed[0][v]);
          const A x = Score::target(row_of[u][0][v]);
          if (is_row) Score::d_source(turned[0][v], d, row[0][v], x);
        }
      }

      walk.entry += count;
      if (!walk.active() || walk.entry != walk.row_end) continue;
      if constexpr (Score::kAtt)
        gather_wide<T>(rows_at(a.att, place.read_feature), 0, 0, true, place, kLog2E<A>, att);
      leave_source_row<T, Score>(a, place, walk, row, att, A(1), term, weighed, turned, d_att);
      walk.next_row(a);
      begin_row();
    }
  }
  if constexpr (Score::kAtt) {
    if (a.d_att != nullptr)
      leave_sum_of_groups<T>(d_att, place, a.d_att + int64_t{blockIdx.x} * a.heads * a.width + place.feature);
  }
}

}  // namespace adj::kernels::cuda
