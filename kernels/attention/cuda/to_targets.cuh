#pragma once

// Backward pass by target: gathers source features; writes dq, dl and datt, Δ, and, if needed, the gradients
// of the logits and the weights m α of every entry.

#include <adjoint/kernels/attention/cuda/backward.cuh>

namespace adj::kernels::cuda {

template <class T, class Score, bool kEdges, bool kBias>
__global__ void __launch_bounds__(T::kThreads, kBackwardBlocks<T, Score>)
    attention_to_targets(const __grid_constant__ BackwardArguments<typename T::S> a) {
  using S = typename T::S;
  using A = typename T::A;
  constexpr int kBatch = T::kBatch, kOwned = T::kOwned, kChunks = T::kChunks, kVector = T::kVector;
  begin_overlapping();
  const Place<T> place(a);
  const int feature = place.feature, read = place.read_feature;
  const bool drops = a.dropout.threshold != 0;
  const char* const source = rows_at(a.source, read);
  const char* const value = Score::kValues ? rows_at(a.value, read) : nullptr;
  const char* const target = Score::kRows ? rows_at(a.target, read) : nullptr;
  WideFeatures<T> att, d_att;
  if constexpr (Score::kAtt) {
    gather_wide<T>(rows_at(a.att, read), 0, 0, true, place, kLog2E<A>, att);
    clear<T>(d_att);
  }

  // Δ is given only in passes over the rest of a cut, whose operands have 2 bytes: for other types this is a
  // compile-time constant.
  const bool delta_given = sizeof(S) == 2 && a.o == nullptr;
  RowsAhead<T> ahead(a, place, a.source);
  const int step = static_cast<int>(gridDim.x) * place.groups;
  const int first_item = static_cast<int>(blockIdx.x) * place.groups + place.group;
  for (int item = first_item; __any_sync(kAllLanes, item < a.items); item += step) {
    ItemWalk<> walk;
    walk.begin(a, item);
    WideFeatures<T> row, d_o, sum;
    A own_term = 0, lse = 0, delta = 0, term_sum = 0;
    // The loads of a row's data are issued at the end of the previous row and used only after the row's first
    // entries are requested as well: one wait instead of two.
    RowFeatures<T> own_asked, d_o_asked, o_asked;
    bool is_new = true;
    auto begin_row = [&] {
      const bool wanted = walk.active();
      const int64_t term = int64_t{walk.row} * a.heads + place.head;
      if constexpr (Score::kRows)
        gather_own<T>(target, walk.row, a.pitch, wanted, place, own_asked);
      else
        own_term = wanted && place.has_head ? a.l[term] : A(0);
      gather_own<T>(rows_at(a.d_o, read), walk.row, a.pitch, wanted, place, d_o_asked);
      if (delta_given)
        delta = wanted && place.has_head ? a.delta[term] : A(0);
      else
        gather_own<T>(rows_at(a.o, read), walk.row, a.pitch, wanted, place, o_asked);
      lse = wanted && place.has_head ? a.lse[term] : A(0);
      term_sum = 0;
      clear<T>(sum);
      is_new = true;
    };
    // All lanes of the warp are converged here.
    auto look_at_row = [&] {
      const bool wanted = walk.active();
      A dot = 0;
      if (is_new) {
        if constexpr (Score::kRows)
          widen_row<T>(own_asked, wanted, place, Score::target_factor(a) * a.product_scale(), row);
        widen_row<T>(d_o_asked, wanted, place, A(1), d_o);
        [[maybe_unused]] WideFeatures<T> bias;  // contained in O in addition to the row's sum
        if constexpr (kBias) gather_wide<T>(rows_at(a.bias, read), 0, 0, true, place, A(1), bias);
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
#pragma unroll
          for (int v = 0; v < kVector; ++v) {
            A o = o_asked[c][v];
            if constexpr (kBias) o -= bias[c][v];  // exact if the bias dominates
            if (wanted && !delta_given) dot = fma(d_o[c][v], o, dot);
          }
      }
      dot = sum_of_head<T>(dot);
      if (!is_new) return;
      is_new = false;
      if (delta_given) return;
      delta = dot;
      if (!wanted || !place.has_head) return;
      const int64_t term = int64_t{walk.row} * a.heads + place.head;
      if (a.delta_more != nullptr) delta += a.delta_more[term];
      if (place.t == 0 && walk.first_part) a.delta[term] = delta;
    };
    begin_row();

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
      if (__any_sync(kAllLanes, is_new)) look_at_row();
      A term[kOwned] = {};
      int64_t edge[kOwned];
      bool is_entry[kOwned];
#pragma unroll
      for (int k = 0; k < kOwned; ++k) {
        const int slot = owned_slot<T>(place.t, k), entry = walk.entry + slot;
        is_entry[k] = slot < count && place.has_head;
        edge[k] = 0;
        if (!is_entry[k]) continue;
        if (kEdges)
          edge[k] = int64_t{a.order == nullptr ? entry : __ldg(a.order + entry)} * a.heads + place.head;
        if constexpr (Score::kTerms) {
          const A* const of_source = Score::terms(a);
          term[k] = of_source == nullptr
                        ? A(1)
                        : __ldg(of_source + int64_t{__ldg(a.indices + entry)} * a.heads + place.head);
        }
      }
      load_columns<T>(a.indices, walk.entry + count, walk.end_entry, column);

      A logit[kBatch], dot[kBatch];
#pragma unroll
      for (int u = 0; u < kBatch; ++u) {
        A linear = 0, above = 0, g = 0;
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
#pragma unroll
          for (int v = 0; v < kVector; ++v) {
            const A x = row_of[u][c][v];
            if constexpr (Score::kValues)
              g = fma(d_o[c][v], value_of[u][c][v], g);
            else
              g = fma(d_o[c][v], x, g);
            if constexpr (Score::kAtt) linear = fma(att[c][v], x, linear);
            if constexpr (Score::kRows) above = Score::logit(above, x, row[c][v], att[c][v]);
          }
        logit[u] = Score::kAtt ? fma(a.slope, linear, (A(1) - a.slope) * above) : above;
        dot[u] = g;
      }
      if constexpr (Score::kRows)
        sum_and_own<T>(logit, dot, place.t);
      else
        sum_and_own<T>(dot, place.t);

      A de[kBatch];
      bool kept[kOwned];
      if (drops) {
#pragma unroll
        for (int k = 0; k < kOwned; ++k)
          kept[k] = bits.kept(a, place, walk.entry + owned_slot<T>(place.t, k));
      }
#pragma unroll
      for (int k = 0; k < kOwned; ++k) {
        de[k] = 0;
        if (!is_entry[k]) continue;
        A slope = 1;
        if constexpr (Score::kRows) {
          if (kEdges && a.c != nullptr) logit[k] = fma(a.c[edge[k]], kLog2E<A>, logit[k]);
        } else {
          A z = own_term + term[k];
          if (kEdges && a.c != nullptr) z += a.c[edge[k]];
          slope = Score::d_logit(z, a.slope);
          logit[k] = slope * z;
        }
        const A alpha = coefficient<Score>(logit[k], lse * Score::template kUnit<A>);
        const A factor = drops ? (kept[k] ? a.kept_scale : A(0)) : A(1);
        A g = Score::kScaled ? dot[k] * term[k] : dot[k];
        if (kEdges && a.g != nullptr) g += a.g[edge[k]];
        de[k] = alpha * (factor * g - delta) * slope;
        term_sum += de[k];
        if (a.kept != nullptr && (T::kShare == 1 || place.t % T::kShare == 0)) {
          const int entry = walk.entry + owned_slot<T>(place.t, k);
          const int64_t of_edge = a.order == nullptr ? entry : __ldg(a.order + entry);
          const int group_head = place.head & (a.side - 1);  // side is a power of two
          a.kept[(int64_t{blockIdx.y} * a.entries + of_edge) * a.side + group_head] = {alpha * factor, de[k]};
        }
        if (!kEdges || (T::kShare > 1 && place.t % T::kShare != 0)) continue;
        if (a.logit_gradient != nullptr) a.logit_gradient[edge[k]] = de[k];
        if (a.weight != nullptr) a.weight[edge[k]] = alpha * factor;
      }
      if constexpr (Score::kRows) {
#pragma unroll
        for (int u = 0; u < kBatch; ++u) {
          const A d = owned_by<T>(de, u);
          const bool is_row = u < count;
#pragma unroll
          for (int c = 0; c < kChunks; ++c)
#pragma unroll
            for (int v = 0; v < kVector; ++v) {
              const A x = row_of[u][c].again(v);
              if (Score::kAtt && is_row) d_att[c][v] = fma(d, larger(x, row[c][v]), d_att[c][v]);
              if (is_row) Score::d_target(sum[c][v], d, x, row[c][v]);
            }
        }
      }

      walk.entry += count;
      const bool ended = walk.active() && walk.entry == walk.row_end;
      if (!__any_sync(kAllLanes, ended)) continue;
      const A row_term = !Score::kRows ? sum_of_owned<T>(term_sum) : A(0);
      if (ended) {
        if constexpr (!Score::kRows) {
          if (place.t == 0 && place.has_head && a.d_term != nullptr) {
            if (walk.part)
              a.partial_term[int64_t{walk.slot} * a.heads + place.head] = row_term;
            else
              a.d_term[int64_t{walk.row} * a.heads + place.head] = row_term;
          }
        } else if (a.d_row != nullptr) {
#pragma unroll
          for (int c = 0; c < kChunks; ++c)
#pragma unroll
            for (int v = 0; v < kVector; ++v) sum[c][v] *= Score::d_target_factor(a, att[c][v]);
          if (walk.part)
            scatter<T>(a.partial + int64_t{walk.slot} * a.heads * a.width + feature, place, sum);
          else
            scatter<T>(a.d_row + int64_t{walk.row} * a.heads * a.width + feature, place, sum);
        }
        walk.next_row(a);
        begin_row();
      }
    }
  }
  if constexpr (Score::kAtt) {
    if (a.d_att == nullptr) return;
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
#pragma unroll
      for (int v = 0; v < kVector; ++v) d_att[c][v] *= A(1) - a.slope;
    leave_sum_of_groups<T>(d_att, place, a.d_att + int64_t{blockIdx.x} * a.heads * a.width + feature);
  }
}

}  // namespace adj::kernels::cuda
