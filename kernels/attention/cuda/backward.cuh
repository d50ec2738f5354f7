#pragma once

// The backward pass, in two walks. With Δ_i = ⟨dO_i, O_i⟩, α_ij = exp(e_ij - lse_i) and g_ij = ⟨dO_i, v_j⟩,
// de_ij = α_ij (m_ij g_ij - Δ_i). The logits are computed again in both walks: a row that is gathered for the
// gradients anyway holds what they need, and 2 x 4 bytes for each of M x H would be the largest thing of the
// layer.
//
// By target (attention_to_targets): gathers what the sources have, leaves dq, dl and datt, and Δ for the
// other walk. By source (attention_to_sources), over the transposed structure: gathers what the targets have
// and dO, leaves dk, dv, dr, ds. Rows that the plan cut leave partial sums, which are added in order.
//
// For GATv2 with s the slope, leaky_relu(z) = s z + (1 - s) max(z, 0). As Σ_j de_ij = 0, terms of the logits'
// gradient that are the same in a whole row vanish:
//   dl_i = (1 - s) att Σ_j de_ij [z_ij > 0],   dr_j = Σ_i m_ij α_ij dO_i + att (s D_j + (1 - s) Σ_i de_ij [z
//   > 0]) datt = s Σ_j D_j r_j + (1 - s) Σ_ij de_ij max(r_j, -l_i),   D_j = Σ_i de_ij,
// its first half from the second walk.
//
// Bytes: by target entries x H D of values (and as many of keys), rows x H D of q or l, O, dO and the result;
// by source entries x H D of dO (and of q or l), columns x H D of k, v or r and the results.

#include <adjoint/kernels/attention/cuda/tile.cuh>

namespace adj::kernels::cuda {

template <class S>
struct BackwardArguments : AttentionArguments<S> {
  using A = Wide<S>;
  const S* target;      ///< q or l [targets, H D]
  const S* source;      ///< k, r or x [sources, H D]
  const S* value;       ///< v [sources, H D]; dot alone
  const S* att;         ///< [H,D]; gatv2
  const A* l;           ///< [targets,H]; gat
  const A* r;           ///< [sources,H]; gat
  const A* s;           ///< [sources,H], or null; keyed
  const A* c;           ///< [M,H] by edge number, added to the logits, or null
  const S* o;           ///< [targets, H D]
  const S* d_o;         ///< [targets, H D]
  const A* lse;         ///< [targets,H]
  const A* g;           ///< [M,H] by edge number, added to ⟨dO_i, v_j⟩, or null
  const A* delta_more;  ///< [targets,H], added to Δ, or null
  A* delta;             ///< [targets,H]: the first walk's output and the second one's input
  A* logit_gradient;    ///< [M,H] by edge number: de (gat: of l + r + c), or null; first walk
  A* weight;            ///< [M,H] by edge number: m α, or null; first walk
  // What the rows of the walk get; a walk that is asked for less has nulls.
  S* d_row;    ///< dq or dl; dk, dr or dx
  S* d_value;  ///< dv; dot alone
  A* d_term;   ///< gat: dl or dr [rows,H]; keyed: ds [sources,H]
  A* partial;  ///< [slots, H D], and likewise
  A* partial_value;
  A* partial_term;  ///< [slots,H]
  A* d_att;         ///< [blocks of the grid, H D]; gatv2
  // gat, where l and r are products of x itself: dx is to have what comes by them, too.
  const S* by_source;  ///< [H,D]
  const S* by_target;
  const A* dl;  ///< [targets,H]
};

/// Two sums over the head's lanes at once.
template <class T>
__device__ __forceinline__ void sum_and_own(typename T::A (&x)[T::kBatch], typename T::A (&y)[T::kBatch],
                                            int t) {
  sum_and_own<T>(x, t);
  sum_and_own<T>(y, t);
}

/// Adds the block's groups' values in order and leaves them at `to`, which begins at the block's first head.
template <class T>
__device__ void leave_sum_of_groups(const WideFeatures<T>& x, const Place<T>& place, typename T::A* to) {
  using A = typename T::A;
  constexpr int kPerLane = T::kChunks * T::kVector;
  __shared__ A shared[T::kThreads];
  const int lane = static_cast<int>(threadIdx.x) % place.group_lanes;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    __syncthreads();
    shared[threadIdx.x] = x[i / T::kVector][i % T::kVector];
    __syncthreads();
    if (place.group != 0 || !place.valid[i / T::kVector]) continue;
    A sum = 0;
    for (int g = 0; g < place.groups; ++g) sum += shared[g * place.group_lanes + lane];
    to[i / T::kVector * T::kLanes * T::kVector + i % T::kVector] = sum;
  }
}

template <class T, Score kScore>
constexpr int kBackwardBlocks = blocks_for_registers<T>(kScore == Score::gat
                                                            ? (T::kBatch * T::kVector <= 16 ? 80 : 128)
                                                        : T::kBatch * T::kVector <= 8  ? 80
                                                        : T::kBatch * T::kVector <= 16 ? 102
                                                                                       : 128);

template <class T, Score kScore, bool kEdges>
__global__ void __launch_bounds__(T::kThreads, kBackwardBlocks<T, kScore>)
    attention_to_targets(const __grid_constant__ BackwardArguments<typename T::S> a) {
  using S = typename T::S;
  using A = typename T::A;
  constexpr int kBatch = T::kBatch, kOwned = T::kOwned, kChunks = T::kChunks, kVector = T::kVector;
  constexpr bool kDot = kScore == Score::dot || kScore == Score::keyed;
  adj::cuda::begin_overlapping();
  const Place<T> place(a);
  const int feature = place.feature(a), read = place.read_feature(a);
  const bool drops = a.dropout.threshold != 0;
  const char* const source = rows_at(a.source, read);
  const char* const value = kScore == Score::dot ? rows_at(a.value, read) : nullptr;
  const char* const target = kScore == Score::gat ? nullptr : rows_at(a.target, read);
  WideFeatures<T> att, d_att;
  if constexpr (kScore == Score::gatv2) {
    gather_wide<T>(rows_at(a.att, read), 0, 0, true, place, kLog2E<A>, att);
    clear<T>(d_att);
  }

  const int step = static_cast<int>(gridDim.x) * place.groups;
  const int first_item = static_cast<int>(blockIdx.x) * place.groups + place.group;
  for (int item = first_item; __any_sync(kAllLanes, item < a.items); item += step) {
    Walk walk;
    walk.begin(a, item);
    WideFeatures<T> own, d_o, sum;
    A own_term = 0, lse = 0, delta = 0, term_sum = 0;
    // All lanes of the warp come here together.
    auto begin_row = [&](bool mine) {
      const bool wanted = mine && walk.active();
      A dot = 0;
      if (mine) {
        const int64_t term = int64_t{walk.row} * a.heads + place.head;
        if constexpr (kScore == Score::gat)
          own_term = wanted && place.has_head ? a.l[term] : A(0);
        else
          gather_wide<T>(target, walk.row, a.pitch, wanted, place,
                         kScore == Score::gatv2 ? A(-1) : a.scale * kLog2E<A>, own);
        gather_wide<T>(rows_at(a.d_o, read), walk.row, a.pitch, wanted, place, A(1), d_o);
        RowFeatures<T> o;
        gather<T>(rows_at(a.o, read), walk.row, a.pitch, wanted, place, o);
        lse = wanted && place.has_head ? a.lse[term] * kUnit<kScore, A> : A(0);
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
#pragma unroll
          for (int v = 0; v < kVector; ++v)
            if (wanted) dot = fma(d_o[c][v], A(widen(o[c][v])), dot);
      }
      dot = sum_of_head<T>(dot);
      if (!mine) return;
      delta = dot;
      term_sum = 0;
      clear<T>(sum);
      if (!wanted || !place.has_head) return;
      const int64_t term = int64_t{walk.row} * a.heads + place.head;
      if (a.delta_more != nullptr) delta += a.delta_more[term];
      if (place.t == 0 && walk.first) a.delta[term] = delta;
    };
    begin_row(true);

    KeptBits<T> bits;
    if (drops) bits.draw(a, place, walk.entry, walk.end_entry);
    int column[kBatch];
    load_columns<T>(a.indices, walk.entry, walk.end_entry, column);

    while (__any_sync(kAllLanes, walk.active())) {
      int count = walk.active() ? min(kBatch, walk.row_end - walk.entry) : 0;
      if (drops) {
        if (__any_sync(kAllLanes, walk.active() && walk.entry == bits.end(place)))
          bits.draw(a, place, walk.entry, walk.end_entry);
        count = min(count, max(bits.end(place) - walk.entry, 0));
      }
      RowFeatures<T> row_of[kBatch];
      [[maybe_unused]] RowFeatures<T> value_of[kScore == Score::dot ? kBatch : 1];
#pragma unroll
      for (int u = 0; u < kBatch; ++u) gather<T>(source, column[u], a.pitch, u < count, place, row_of[u]);
      if constexpr (kScore == Score::dot) {
#pragma unroll
        for (int u = 0; u < kBatch; ++u) gather<T>(value, column[u], a.pitch, u < count, place, value_of[u]);
      }
      A term[kOwned] = {};
      int64_t edge[kOwned];
      bool is_entry[kOwned];
#pragma unroll
      for (int k = 0; k < kOwned; ++k) {
        const int slot = owned_slot<T>(place.t, k), at = walk.entry + slot;
        is_entry[k] = slot < count && place.has_head;
        edge[k] = 0;
        if (!is_entry[k]) continue;
        if (kEdges) edge[k] = int64_t{a.order == nullptr ? at : __ldg(a.order + at)} * a.heads + place.head;
        if constexpr (kScore == Score::gat || kScore == Score::keyed) {
          const A* const of_source = kScore == Score::gat ? a.r : a.s;
          term[k] = of_source == nullptr
                        ? A(1)
                        : __ldg(of_source + int64_t{__ldg(a.indices + at)} * a.heads + place.head);
        }
      }
      load_columns<T>(a.indices, walk.entry + count, walk.end_entry, column);

      A logit[kBatch], dot[kBatch];
#pragma unroll
      for (int u = 0; u < kBatch; ++u) {
        A e = 0, above = 0, g = 0;
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
#pragma unroll
          for (int v = 0; v < kVector; ++v) {
            const A x = widen(row_of[u][c][v]);
            if constexpr (kScore == Score::dot)
              g = fma(d_o[c][v], A(widen(value_of[u][c][v])), g);
            else
              g = fma(d_o[c][v], x, g);
            if constexpr (kScore == Score::gatv2) {
              e = fma(att[c][v], x, e);
              above = fma(att[c][v], larger(x, own[c][v]), above);
            } else if constexpr (kDot) {
              e = fma(own[c][v], x, e);
            }
          }
        logit[u] = kScore == Score::gatv2 ? fma(a.slope, e, (A(1) - a.slope) * above) : e;
        dot[u] = g;
      }
      if constexpr (kScore == Score::gat)
        sum_and_own<T>(dot, place.t);
      else
        sum_and_own<T>(logit, dot, place.t);

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
        if constexpr (kScore == Score::gat) {
          A z = own_term + term[k];
          if (kEdges && a.c != nullptr) z += a.c[edge[k]];
          slope = z > A(0) ? A(1) : a.slope;
          logit[k] = slope * z;
        } else {
          if (kEdges && a.c != nullptr) logit[k] = fma(a.c[edge[k]], kLog2E<A>, logit[k]);
        }
        const A alpha = coefficient<kScore>(logit[k], lse);
        const A factor = drops ? (kept[k] ? a.kept_scale : A(0)) : A(1);
        A g = kScore == Score::keyed ? dot[k] * term[k] : dot[k];
        if (kEdges && a.g != nullptr) g += a.g[edge[k]];
        de[k] = alpha * (factor * g - delta) * slope;
        term_sum += de[k];
        if (!kEdges || (T::kShare > 1 && place.t % T::kShare != 0)) continue;
        if (a.logit_gradient != nullptr) a.logit_gradient[edge[k]] = de[k];
        if (a.weight != nullptr) a.weight[edge[k]] = alpha * factor;
      }
      if constexpr (kScore != Score::gat) {
#pragma unroll
        for (int u = 0; u < kBatch; ++u) {
          const A d = owned_by<T>(de, u);
          const bool is_row = u < count;
#pragma unroll
          for (int c = 0; c < kChunks; ++c)
#pragma unroll
            for (int v = 0; v < kVector; ++v) {
              const A x = widen(row_of[u][c][v]);
              if constexpr (kScore == Score::gatv2) {
                if (is_row) d_att[c][v] = fma(d, larger(x, own[c][v]), d_att[c][v]);
                if (is_row && !(x <= own[c][v])) sum[c][v] += d;  // NaN stays
              } else if (is_row) {
                sum[c][v] = fma(d, x, sum[c][v]);
              }
            }
        }
      }

      walk.entry += count;
      const bool ended = walk.active() && walk.entry == walk.row_end;
      if (!__any_sync(kAllLanes, ended)) continue;
      const A row_term = kScore == Score::gat ? sum_of_owned<T>(term_sum) : A(0);
      if (ended) {
        if constexpr (kScore == Score::gat) {
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
            for (int v = 0; v < kVector; ++v)
              sum[c][v] *= kScore == Score::gatv2 ? (A(1) - a.slope) * kLn2<A> * att[c][v] : a.scale;
          if (walk.part)
            scatter<T>(a.partial + int64_t{walk.slot} * a.heads * a.width + feature, place, sum);
          else
            scatter<T>(a.d_row + int64_t{walk.row} * a.heads * a.width + feature, place, sum);
        }
        walk.next_row(a);
      }
      begin_row(ended);
    }
  }
  if constexpr (kScore == Score::gatv2) {
    if (a.d_att == nullptr) return;
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
#pragma unroll
      for (int v = 0; v < kVector; ++v) d_att[c][v] *= A(1) - a.slope;
    leave_sum_of_groups<T>(d_att, place, a.d_att + int64_t{blockIdx.x} * a.heads * a.width + feature);
  }
}

template <class T, Score kScore, bool kEdges>
__global__ void __launch_bounds__(T::kThreads, kBackwardBlocks<T, kScore>)
    attention_to_sources(const __grid_constant__ BackwardArguments<typename T::S> a) {
  using S = typename T::S;
  using A = typename T::A;
  constexpr int kBatch = T::kBatch, kOwned = T::kOwned, kChunks = T::kChunks, kVector = T::kVector;
  constexpr bool kGat = kScore == Score::gat, kGatv2 = kScore == Score::gatv2,
                 kKeyed = kScore == Score::keyed;
  constexpr bool kRows = !kGat;  ///< are rows of the targets gathered besides dO?
  adj::cuda::begin_overlapping();
  const Place<T> place(a);
  const int feature = place.feature(a), read = place.read_feature(a);
  const bool drops = a.dropout.threshold != 0;
  const char* const outputs = rows_at(a.d_o, read);
  const char* const target = kRows ? rows_at(a.target, read) : nullptr;
  const char* const value = rows_at(kScore == Score::dot ? a.value : a.source, read);
  WideFeatures<T> att, d_att;
  if constexpr (kGatv2) {
    gather_wide<T>(rows_at(a.att, read), 0, 0, true, place, kLog2E<A>, att);
    clear<T>(d_att);
  }

  const int step = static_cast<int>(gridDim.x) * place.groups;
  const int first_item = static_cast<int>(blockIdx.x) * place.groups + place.group;
  for (int item = first_item; __any_sync(kAllLanes, item < a.items); item += step) {
    Walk walk;
    walk.begin(a, item);
    WideFeatures<T> own;      // what dO is multiplied with: v, r or x
    WideFeatures<T> own_key;  // dot: k
    WideFeatures<T> weighed;  // Σ m α dO
    WideFeatures<T> turned;   // Σ de q, or Σ de [z > 0]
    A own_term = 0, term_sum = 0;
    auto begin_row = [&](bool mine) {
      const bool wanted = mine && walk.active();
      A dot = 0;
      if (mine) {
        gather_wide<T>(value, walk.row, a.pitch, wanted, place, A(1), own);
        if constexpr (kScore == Score::dot)
          gather_wide<T>(rows_at(a.source, read), walk.row, a.pitch, wanted, place, a.scale * kLog2E<A>,
                         own_key);
        const A* const terms = kGat ? a.r : a.s;
        if constexpr (kGat || kKeyed)
          own_term = terms == nullptr           ? A(1)
                     : wanted && place.has_head ? terms[int64_t{walk.row} * a.heads + place.head]
                                                : A(0);
        term_sum = 0;
        clear<T>(weighed);
        clear<T>(turned);
        if constexpr (kGatv2) {
#pragma unroll
          for (int c = 0; c < kChunks; ++c)
#pragma unroll
            for (int v = 0; v < kVector; ++v) dot = fma(att[c][v], own[c][v], dot);
        }
      }
      if constexpr (kGatv2) {
        dot = sum_of_head<T>(dot);  // s ⟨att, r_j⟩, which all logits of the row share
        if (mine) own_term = a.slope * dot;
      }
    };
    begin_row(true);

    KeptBits<T> bits;
    if (drops) bits.draw(a, place, walk.entry, walk.end_entry);
    int column[kBatch];
    load_columns<T>(a.indices, walk.entry, walk.end_entry, column);

    while (__any_sync(kAllLanes, walk.active())) {
      int count = walk.active() ? min(kBatch, walk.row_end - walk.entry) : 0;
      if (drops) {
        if (__any_sync(kAllLanes, walk.active() && walk.entry == bits.end(place)))
          bits.draw(a, place, walk.entry, walk.end_entry);
        count = min(count, max(bits.end(place) - walk.entry, 0));
      }
      RowFeatures<T> d_o[kBatch];
      [[maybe_unused]] RowFeatures<T> row_of[kRows ? kBatch : 1];
#pragma unroll
      for (int u = 0; u < kBatch; ++u) gather<T>(outputs, column[u], a.pitch, u < count, place, d_o[u]);
      if constexpr (kRows) {
#pragma unroll
        for (int u = 0; u < kBatch; ++u) gather<T>(target, column[u], a.pitch, u < count, place, row_of[u]);
      }
      A of_target[kOwned] = {}, lse[kOwned] = {}, delta[kOwned] = {};
      int64_t edge[kOwned];
      bool is_entry[kOwned];
#pragma unroll
      for (int k = 0; k < kOwned; ++k) {
        const int slot = owned_slot<T>(place.t, k), at = walk.entry + slot;
        is_entry[k] = slot < count && place.has_head;
        edge[k] = 0;
        if (!is_entry[k]) continue;
        const int64_t term = int64_t{__ldg(a.indices + at)} * a.heads + place.head;
        lse[k] = __ldg(a.lse + term);
        delta[k] = __ldg(a.delta + term);
        if constexpr (kGat) of_target[k] = __ldg(a.l + term);
        if (kEdges) edge[k] = int64_t{a.order == nullptr ? at : __ldg(a.order + at)} * a.heads + place.head;
      }
      load_columns<T>(a.indices, walk.entry + count, walk.end_entry, column);

      A logit[kBatch], dot[kBatch];
#pragma unroll
      for (int u = 0; u < kBatch; ++u) {
        A first = 0, g = 0;
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
#pragma unroll
          for (int v = 0; v < kVector; ++v) {
            g = fma(own[c][v], widen(d_o[u][c][v]), g);
            if constexpr (kRows) {
              const A x = widen(row_of[u][c][v]);
              if constexpr (kGatv2)
                first = fma(att[c][v], larger(own[c][v], -x), first);
              else
                first = fma(kKeyed ? own[c][v] : own_key[c][v], x, first);
            }
          }
        logit[u] = first;
        dot[u] = g;
      }
      if constexpr (kGat)
        sum_and_own<T>(dot, place.t);
      else
        sum_and_own<T>(logit, dot, place.t);

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
        if constexpr (kGat) {
          A z = own_term + of_target[k];
          if (kEdges && a.c != nullptr) z += a.c[edge[k]];
          slope = z > A(0) ? A(1) : a.slope;
          logit[k] = slope * z;
        } else {
          if constexpr (kGatv2) logit[k] = fma(A(1) - a.slope, logit[k], own_term);
          if constexpr (kKeyed) logit[k] *= a.scale * kLog2E<A>;
          if (kEdges && a.c != nullptr) logit[k] = fma(a.c[edge[k]], kLog2E<A>, logit[k]);
        }
        const A alpha = coefficient<kScore>(logit[k], lse[k] * kUnit<kScore, A>);
        weight[k] = drops ? (kept[k] ? alpha * a.kept_scale : A(0)) : alpha;
        A g = kKeyed ? dot[k] * own_term : dot[k];
        if (kEdges && a.g != nullptr) g += a.g[edge[k]];
        de[k] = fma(weight[k], g, -alpha * delta[k]) * slope;
        term_sum += kKeyed ? weight[k] * dot[k] : de[k];
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
            if (is_row) weighed[c][v] = fma(w, A(widen(d_o[u][c][v])), weighed[c][v]);
            if constexpr (kRows) {
              const A x = widen(row_of[u][c][v]);
              if constexpr (kGatv2) {
                if (is_row && !(own[c][v] <= -x)) turned[c][v] += d;  // NaN stays
              } else if (is_row) {
                turned[c][v] = fma(d, x, turned[c][v]);
              }
            }
          }
      }

      walk.entry += count;
      const bool ended = walk.active() && walk.entry == walk.row_end;
      if (!__any_sync(kAllLanes, ended)) continue;
      const A term = kScore == Score::dot ? A(0) : sum_of_owned<T>(term_sum);
      if (ended) {
        const int64_t to = (walk.part ? int64_t{walk.slot} : int64_t{walk.row}) * a.heads;
        if constexpr (kGatv2) {
#pragma unroll
          for (int c = 0; c < kChunks; ++c)
#pragma unroll
            for (int v = 0; v < kVector; ++v) {
              d_att[c][v] = fma(a.slope * term, own[c][v], d_att[c][v]);
              turned[c][v] = fma(kLn2<A> * att[c][v], fma(a.slope, term, (A(1) - a.slope) * turned[c][v]),
                                 weighed[c][v]);
            }
        } else if constexpr (kGat) {
          const A from_target = a.by_target != nullptr && walk.first && place.has_head
                                    ? a.dl[int64_t{walk.row} * a.heads + place.head]
                                    : A(0);
          WideFeatures<T> of_head;
          if (a.by_target != nullptr) {
            gather_wide<T>(rows_at(a.by_target, read), 0, 0, true, place, from_target, of_head);
#pragma unroll
            for (int c = 0; c < kChunks; ++c)
#pragma unroll
              for (int v = 0; v < kVector; ++v) weighed[c][v] += of_head[c][v];
            gather_wide<T>(rows_at(a.by_source, read), 0, 0, true, place, term, of_head);
#pragma unroll
            for (int c = 0; c < kChunks; ++c)
#pragma unroll
              for (int v = 0; v < kVector; ++v) weighed[c][v] += of_head[c][v];
          }
#pragma unroll
          for (int c = 0; c < kChunks; ++c)
#pragma unroll
            for (int v = 0; v < kVector; ++v) turned[c][v] = weighed[c][v];
        } else {
#pragma unroll
          for (int c = 0; c < kChunks; ++c)
#pragma unroll
            for (int v = 0; v < kVector; ++v) {
              turned[c][v] *= a.scale;
              if constexpr (kKeyed) turned[c][v] = fma(own_term, weighed[c][v], turned[c][v]);
            }
        }
        if (a.d_row != nullptr) {
          if (walk.part)
            scatter<T>(a.partial + to * a.width + feature, place, turned);
          else
            scatter<T>(a.d_row + to * a.width + feature, place, turned);
        }
        if constexpr (kScore == Score::dot) {
          if (a.d_value != nullptr) {
            if (walk.part)
              scatter<T>(a.partial_value + to * a.width + feature, place, weighed);
            else
              scatter<T>(a.d_value + to * a.width + feature, place, weighed);
          }
        }
        if constexpr (kGat || kKeyed) {
          if (a.d_term != nullptr && place.t == 0 && place.has_head)
            (walk.part ? a.partial_term : a.d_term)[to + place.head] = term;
        }
        walk.next_row(a);
      }
      begin_row(ended);
    }
  }
  if constexpr (kGatv2) {
    if (a.d_att != nullptr)
      leave_sum_of_groups<T>(d_att, place, a.d_att + int64_t{blockIdx.x} * a.heads * a.width + feature);
  }
}

}  // namespace adj::kernels::cuda
