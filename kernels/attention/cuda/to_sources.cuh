#pragma once

// Backward pass by source over the transposed structure: gathers target features and dO, and recomputes the
// logits.

#include <adjoint/kernels/attention/cuda/backward.cuh>

namespace adj::kernels::cuda {

template <class T, class Score, bool kEdges>
__global__ void __launch_bounds__(T::kThreads, kBackwardBlocks<T, Score>)
    attention_to_sources(const __grid_constant__ BackwardArguments<typename T::S> a) {
  using S = typename T::S;
  using A = typename T::A;
  constexpr int kBatch = T::kBatch, kOwned = T::kOwned, kChunks = T::kChunks, kVector = T::kVector;
  constexpr bool kRows = Score::kRows, kScaled = Score::kScaled;
  begin_overlapping();
  const Place<T> place(a);
  const int feature = place.feature, read = place.read_feature;
  const bool drops = a.dropout.threshold != 0;
  const char* const outputs = rows_at(a.d_o, read);
  const char* const target = kRows ? rows_at(a.target, read) : nullptr;
  const char* const value = rows_at(Score::kValues ? a.value : a.source, read);
  WideFeatures<T> att, d_att;
  if constexpr (Score::kAtt) {
    gather_wide<T>(rows_at(a.att, read), 0, 0, true, place, kLog2E<A>, att);
    clear<T>(d_att);
  }

  const int step = static_cast<int>(gridDim.x) * place.groups;
  const int first_item = static_cast<int>(blockIdx.x) * place.groups + place.group;
  for (int item = first_item; __any_sync(kAllLanes, item < a.items); item += step) {
    ItemWalk<> walk;
    walk.begin(a, item);
    WideFeatures<T> row;      // factor of dO: v, r or x
    WideFeatures<T> own_key;  // dot: k
    WideFeatures<T> weighed;  // Σ m α dO
    WideFeatures<T> turned;   // Σ de q, or Σ de [z > 0]
    A own_term = 0, term_sum = 0;
    // The loads of a row's data are issued at the end of the previous row and used only after the row's first
    // entries are requested as well: one wait instead of two.
    RowFeatures<T> own_asked;
    [[maybe_unused]] RowFeatures<T> key_asked;
    bool is_new = true;
    auto begin_row = [&] {
      const bool wanted = walk.active();
      gather_own<T>(value, walk.row, a.pitch, wanted, place, own_asked);
      if constexpr (Score::kValues)
        gather_own<T>(rows_at(a.source, read), walk.row, a.pitch, wanted, place, key_asked);
      if constexpr (Score::kTerms) {
        const A* const terms = Score::terms(a);
        own_term = terms == nullptr           ? A(1)
                   : wanted && place.has_head ? terms[int64_t{walk.row} * a.heads + place.head]
                                              : A(0);
      }
      term_sum = 0;
      clear<T>(weighed);
      clear<T>(turned);
      is_new = true;
    };
    // All lanes of the warp are converged here.
    auto look_at_row = [&] {
      A dot = 0;
      if (is_new) {
        widen_row<T>(own_asked, walk.active(), place, A(1), row);
        if constexpr (Score::kValues)
          widen_row<T>(key_asked, walk.active(), place, Score::target_factor(a) * a.product_scale(), own_key);
        if constexpr (Score::kAtt) {
#pragma unroll
          for (int c = 0; c < kChunks; ++c)
#pragma unroll
            for (int v = 0; v < kVector; ++v) dot = fma(att[c][v], row[c][v], dot);
        }
      }
      if constexpr (Score::kAtt) {
        dot = sum_of_head<T>(dot);  // s ⟨att, r_j⟩, common to all logits of the row
        if (is_new) own_term = a.slope * dot;
      }
      is_new = false;
    };
    begin_row();

    KeptBits<T> bits;
    if (drops) bits.draw(a, place, walk.entry, walk.end_entry);
    int column[kBatch];
    load_columns<T>(a.indices, walk.entry, walk.end_entry, column);

    while (__any_sync(kAllLanes, walk.active())) {
      int count = walk.active() ? min(kBatch, walk.row_end - walk.entry) : 0;
      if (drops) count = bits.drawn(a, place, walk, count);
      RowFeatures<T> d_o[kBatch];
      [[maybe_unused]] RowFeatures<T> row_of[kRows ? kBatch : 1];
#pragma unroll
      for (int u = 0; u < kBatch; ++u) gather<T>(outputs, column[u], a.pitch, u < count, place, d_o[u]);
      if constexpr (kRows) {
#pragma unroll
        for (int u = 0; u < kBatch; ++u) gather<T>(target, column[u], a.pitch, u < count, place, row_of[u]);
      }
      if (__any_sync(kAllLanes, is_new)) look_at_row();
      A of_target[kOwned] = {}, lse[kOwned] = {}, delta[kOwned] = {};
      int64_t edge[kOwned];
      bool is_entry[kOwned];
#pragma unroll
      for (int k = 0; k < kOwned; ++k) {
        const int slot = owned_slot<T>(place.t, k), entry = walk.entry + slot;
        is_entry[k] = slot < count && place.has_head;
        edge[k] = 0;
        if (!is_entry[k]) continue;
        const int64_t term = int64_t{__ldg(a.indices + entry)} * a.heads + place.head;
        lse[k] = __ldg(a.lse + term);
        delta[k] = __ldg(a.delta + term);
        if constexpr (!kRows) of_target[k] = __ldg(a.l + term);
        if (kEdges)
          edge[k] = int64_t{a.order == nullptr ? entry : __ldg(a.order + entry)} * a.heads + place.head;
      }
      load_columns<T>(a.indices, walk.entry + count, walk.end_entry, column);

      A logit[kBatch], dot[kBatch];
#pragma unroll
      for (int u = 0; u < kBatch; ++u) {
        A sum = 0, g = 0;
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
#pragma unroll
          for (int v = 0; v < kVector; ++v) {
            g = fma(row[c][v], d_o[u][c][v], g);
            if constexpr (kRows)
              sum = Score::logit(sum, Score::kValues ? own_key[c][v] : row[c][v],
                                 Score::target(row_of[u][c][v]), att[c][v]);
          }
        logit[u] = sum;
        dot[u] = g;
      }
      if constexpr (kRows)
        sum_and_own<T>(logit, dot, place.t);
      else
        sum_and_own<T>(dot, place.t);

      A de[kBatch], weight[kBatch];
      bool kept[kOwned];
      if (drops) {
#pragma unroll
        for (int k = 0; k < kOwned; ++k)
          kept[k] = bits.kept(a, place, walk.entry + owned_slot<T>(place.t, k));
      }
#pragma unroll
      for (int k = 0; k < kOwned; ++k) {
        de[k] = weight[k] = 0;
        if (!is_entry[k]) continue;
        A slope = 1;
        if constexpr (kRows) {
          if constexpr (Score::kAtt) logit[k] = fma(A(1) - a.slope, logit[k], own_term);
          if constexpr (kScaled) logit[k] *= Score::target_factor(a);
          if (kEdges && a.c != nullptr) logit[k] = fma(a.c[edge[k]], kLog2E<A>, logit[k]);
        } else {
          A z = own_term + of_target[k];
          if (kEdges && a.c != nullptr) z += a.c[edge[k]];
          slope = Score::d_logit(z, a.slope);
          logit[k] = slope * z;
        }
        const A alpha = coefficient<Score>(logit[k], lse[k] * Score::template kUnit<A>);
        weight[k] = drops ? (kept[k] ? alpha * a.kept_scale : A(0)) : alpha;
        A g = kScaled ? dot[k] * own_term : dot[k];
        if (kEdges && a.g != nullptr) g += a.g[edge[k]];
        de[k] = fma(weight[k], g, -alpha * delta[k]) * slope;
        term_sum += kScaled ? weight[k] * dot[k] : de[k];
      }
#pragma unroll
      for (int u = 0; u < kBatch; ++u) {
        const A w = owned_by<T>(weight, u);
        [[maybe_unused]] const A d = kRows ? owned_by<T>(de, u) : A(0);
        const bool is_row = u < count;
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
#pragma unroll
          for (int v = 0; v < kVector; ++v) {
            if (is_row) weighed[c][v] = fma(w, d_o[u][c].again(v), weighed[c][v]);
            if constexpr (kRows) {
              const A x = Score::target(row_of[u][c].again(v));
              if (is_row) Score::d_source(turned[c][v], d, row[c][v], x);
            }
          }
      }

      walk.entry += count;
      const bool ended = walk.active() && walk.entry == walk.row_end;
      if (!__any_sync(kAllLanes, ended)) continue;
      const A term = Score::kValues ? A(0) : sum_of_owned<T>(term_sum);
      if (ended) {
        leave_source_row<T, Score>(a, place, walk, row, att, own_term, term, weighed, turned, d_att);
        walk.next_row(a);
        begin_row();
      }
    }
  }
  if constexpr (Score::kAtt) {
    if (a.d_att != nullptr)
      leave_sum_of_groups<T>(d_att, place, a.d_att + int64_t{blockIdx.x} * a.heads * a.width + feature);
  }
}

}  // namespace adj::kernels::cuda
