#pragma once

// The backward pass, in two walks. With Δ_i = ⟨dO_i, O_i⟩, α_ij = exp(e_ij - lse_i) and g_ij = ⟨dO_i, v_j⟩,
// de_ij = α_ij (m_ij g_ij - Δ_i).
//
// By target (to_targets.cuh): gathers what the sources have, leaves dq, dl and datt, and Δ for the other
// walk. By source, over the transposed structure: gathers what the targets have and dO, leaves dk, dv, dr,
// ds. It needs m_ij α_ij and de_ij, in one of two ways. The walk by target leaves them, 2 numbers for an
// entry and head, in a buffer that lives for the call, and the walk by source is but a weighted sum
// (from_edges.cuh): where that buffer is small beside the features, heads taken some at a time if need be.
// Else it finds the logits again (to_sources.cuh): a row that is gathered for the gradients anyway holds what
// they need. Rows that the plan cut leave partial sums, which are added in order.
//
// For GATv2 with s the slope, leaky_relu(z) = s z + (1 - s) max(z, 0). As Σ_j de_ij = 0, terms of the logits'
// gradient that are the same in a whole row vanish:
//   dl_i = (1 - s) att Σ_j de_ij [z_ij > 0],   dr_j = Σ_i m_ij α_ij dO_i + att (s D_j + (1 - s) Σ_i de_ij [z
//   > 0]) datt = s Σ_j D_j r_j + (1 - s) Σ_ij de_ij max(r_j, -l_i),   D_j = Σ_i de_ij,
// its first half from the second walk.
//
// Bytes: by target entries x H D of values (and as many of keys), rows x H D of q or l, O, dO and the result;
// by source entries x H D of dO (and of q or l), columns x H D of k, v or r and the results.

#include <adjoint/kernels/attention/cuda/lane_layout.cuh>

namespace adj::kernels::cuda {

/// What the walk by target leaves of an entry and head for the walk by source.
template <class A>
struct alignas(2 * sizeof(A)) EdgeGradient {
  A weight = 0;  ///< m α
  A logit = 0;   ///< de
};

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
  const S* o;           ///< [targets, H D], with the bias; null where Δ is given
  const S* bias;        ///< [H D], or null
  const S* d_o;         ///< [targets, H D]
  const A* lse;         ///< [targets,H]
  const A* g;           ///< [M,H] by edge number, added to ⟨dO_i, v_j⟩, or null
  const A* delta_more;  ///< [targets,H], added to Δ, or null
  A* delta;  ///< [targets,H]: the first walk's output, unless it is given, and the second one's input
  A* logit_gradient;  ///< [M,H] by edge number: de (gat: of l + r + c), or null; first walk
  A* weight;          ///< [M,H] by edge number: m α, or null; first walk
  /// [kept_heads / side, M, side] by edge number, from first_head on, or null: heads that a group of lanes
  /// takes side by side lie so here, too.
  EdgeGradient<A>* kept;
  int kept_heads;
  int64_t entries;  ///< M
  // What the rows of the walk get; a walk that is asked for less has nulls.
  Result<S>* d_row;    ///< dq or dl; dk, dr or dx
  Result<S>* d_value;  ///< dv; dot alone
  A* d_term;           ///< gat: dl or dr [rows,H]; keyed: ds [sources,H]
  A* partial;          ///< [slots, H D], and likewise
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

template <class T, class Score>
constexpr int kBackwardBlocks = blocks_for_registers<T>(!Score::kRows
                                                            ? (T::kBatch * T::kVector <= 16 ? 80 : 128)
                                                        : T::kBatch * T::kVector <= 8  ? 80
                                                        : T::kBatch * T::kVector <= 16 ? 102
                                                                                       : 128);

/// The end of a source's row: what its gradients are, from the sums over its entries.
template <class T, class Score>
__device__ __forceinline__ void leave_source_row(const BackwardArguments<typename T::S>& a,
                                                 const Place<T>& place, const ItemWalk<>& walk,
                                                 const WideFeatures<T>& own,  // v, r or x
                                                 const WideFeatures<T>& att, typename T::A own_term,
                                                 typename T::A term,  // Σ de; keyed: ds
                                                 WideFeatures<T>& weighed, WideFeatures<T>& turned,
                                                 WideFeatures<T>& d_att) {
  using A = typename T::A;
  constexpr int kChunks = T::kChunks, kVector = T::kVector;
  const int feature = place.feature, read = place.read_feature;
  const int64_t to = (walk.part ? int64_t{walk.slot} : int64_t{walk.row}) * a.heads;
  if constexpr (Score::kAtt) {
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
        d_att[c][v] = fma(a.slope * term, own[c][v], d_att[c][v]);
        turned[c][v] =
            fma(kLn2<A> * att[c][v], fma(a.slope, term, (A(1) - a.slope) * turned[c][v]), weighed[c][v]);
      }
  } else if constexpr (!Score::kRows) {
    const A from_target = a.by_target != nullptr && walk.first_part && place.has_head
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
        if constexpr (Score::kTerms) turned[c][v] = fma(own_term, weighed[c][v], turned[c][v]);
      }
  }
  if (a.d_row != nullptr) {
    if (walk.part)
      scatter<T>(a.partial + to * a.width + feature, place, turned);
    else
      scatter<T>(a.d_row + to * a.width + feature, place, turned);
  }
  if constexpr (Score::kValues) {
    if (a.d_value != nullptr) {
      if (walk.part)
        scatter<T>(a.partial_value + to * a.width + feature, place, weighed);
      else
        scatter<T>(a.d_value + to * a.width + feature, place, weighed);
    }
  }
  if constexpr (Score::kTerms) {
    if (a.d_term != nullptr && place.has_head && place.feature == place.head * a.width)
      (walk.part ? a.partial_term : a.d_term)[to + place.head] = term;
  }
}

}  // namespace adj::kernels::cuda
