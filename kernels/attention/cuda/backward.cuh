#pragma once

// Attention backward in two passes over the graph. With Δ_i = ⟨dO_i, O_i⟩, α_ij = exp(e_ij - lse_i) and g_ij
// = ⟨dO_i, v_j⟩, de_ij = α_ij (m_ij g_ij - Δ_i).
//
// By target (to_targets.cuh): gathers source features; writes dq, dl and datt, and Δ for the second pass. By
// source, over the transposed structure: gathers target features and dO; writes dk, dv, dr, ds. It needs m_ij
// α_ij and de_ij, and gets them by one of two methods. Kept: the target pass stores them, 2 numbers per entry
// and head, in a buffer that lives for the call, and the source pass is only a weighted sum (from_edges.cuh);
// used if that buffer is small compared with the features, for a group of heads at a time if necessary.
// Recomputed: the source pass computes the logits again (to_sources.cuh) from rows that it gathers for the
// gradients anyway. Rows split by the plan leave partial sums, which are merged in order.
//
// With att and slope s, leaky_relu(z) = s z + (1 - s) max(z, 0). As Σ_j de_ij = 0, terms of the logits'
// gradient that are constant in a row vanish:
//   dl_i = (1 - s) att Σ_j de_ij [z_ij > 0],
//   dr_j = Σ_i m_ij α_ij dO_i + att (s D_j + (1 - s) Σ_i de_ij [z > 0]),
//   datt = s Σ_j D_j r_j + (1 - s) Σ_ij de_ij max(r_j, -l_i),   D_j = Σ_i de_ij,
// the first half of datt from the second pass.
//
// Saved for backward: lse and O. Recomputed: logits, α, Δ and the dropout mask.
//
// Bytes: by target, entries x H D of values (and as many of keys), rows x H D of q or l, O, dO and the
// result; by source, entries x H D of dO (and of q or l), columns x H D of k, v or r and the results.

#include <adjoint/kernels/attention/cuda/row_pass.cuh>

namespace adj::kernels::cuda {

/// Values of an entry and head that the target pass keeps for the source pass.
template <class A>
struct alignas(2 * sizeof(A)) EdgeGradient {
  A weight = 0;  ///< m α
  A logit = 0;   ///< de
};

template <class S>
struct BackwardArguments : AttentionArguments<S> {
  using A = Accumulator<S>;
  const S* target;      ///< q or l [targets, H D]
  const S* source;      ///< k, r or x [sources, H D]
  const S* value;       ///< v [sources, H D]; dot alone
  const S* att;         ///< [H,D]; scores with att
  const A* l;           ///< [targets,H]; gat
  const A* r;           ///< [sources,H]; gat
  const A* s;           ///< [sources,H], or null; keyed
  const A* c;           ///< [M,H] by edge number, added to the logits, or null
  const S* o;           ///< [targets, H D], with the bias; null if Δ is given
  const S* bias;        ///< [H D], or null
  const S* d_o;         ///< [targets, H D]
  const A* lse;         ///< [targets,H]
  const A* g;           ///< [M,H] by edge number, added to ⟨dO_i, v_j⟩, or null
  const A* delta_more;  ///< [targets,H], added to Δ, or null
  A* delta;             ///< [targets,H]: output of the first pass, unless given, and input of the second
  A* logit_gradient;    ///< [M,H] by edge number: de (gat: of l + r + c), or null; first pass
  A* weight;            ///< [M,H] by edge number: m α, or null; first pass
  /// [kept_heads / side, M, side] by edge number, from first_head on, or null: adjacent heads of a group of
  /// lanes are adjacent here too.
  EdgeGradient<A>* kept;
  int kept_heads;
  int64_t entries;  ///< M
  // Row outputs of the pass; null if not needed.
  Result<S>* d_row;    ///< dq or dl; dk, dr or dx
  Result<S>* d_value;  ///< dv; dot alone
  A* d_term;           ///< gat: dl or dr [rows,H]; keyed: ds [sources,H]
  A* partial;          ///< [slots, H D], for split rows
  A* partial_value;
  A* partial_term;  ///< [slots,H]
  A* d_att;         ///< [blocks of the grid, H D]; scores with att
  // gat with l and r as products of x itself: dx includes their gradient.
  const S* by_source;  ///< [H,D]
  const S* by_target;
  const A* dl;  ///< [targets,H]
};

/// Whether a new row is waited for before a batch's terms and the next columns are requested. Two rows an
/// entry leave no registers for those meanwhile; other scores gain up to 10 % from asking first.
template <class Score>
constexpr bool kLooksFirst = Score::kValues;

/// Reduces two sums over the head's lanes at once.
template <class T>
__device__ __forceinline__ void sum_and_own(typename T::A (&x)[T::kBatch], typename T::A (&y)[T::kBatch],
                                            int t) {
  sum_and_own<T>(x, t);
  sum_and_own<T>(y, t);
}

/// Adds the values of the block's groups in order and writes them to `output`, which begins at the block's
/// first head.
template <class T>
__device__ void leave_sum_of_groups(const WideFeatures<T>& x, const Place<T>& place, typename T::A* output) {
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
    output[i / T::kVector * T::kLanes * T::kVector + i % T::kVector] = sum;
  }
}

template <class T, class Score>
constexpr int kBackwardBlocks = blocks_for_registers<T>(!Score::kRows
                                                            ? (T::kBatch * T::kVector <= 16 ? 80 : 128)
                                                        : T::kBatch * T::kVector <= 8  ? 80
                                                        : T::kBatch * T::kVector <= 16 ? 102
                                                                                       : 128);

/// Writes the gradients of a source row from the sums over its entries.
template <class T, class Score>
__device__ __forceinline__ void leave_source_row(const BackwardArguments<typename T::S>& a,
                                                 const Place<T>& place, const ItemWalk<>& walk,
                                                 const WideFeatures<T>& row,  // v, r or x
                                                 const WideFeatures<T>& att, typename T::A own_term,
                                                 typename T::A term,  // Σ de; keyed: ds
                                                 WideFeatures<T>& weighed, WideFeatures<T>& turned,
                                                 WideFeatures<T>& d_att) {
  using A = typename T::A;
  constexpr int kChunks = T::kChunks, kVector = T::kVector;
  const int feature = place.feature, read = place.read_feature;
  const int64_t offset = (walk.part ? int64_t{walk.slot} : int64_t{walk.row}) * a.heads;
  if constexpr (Score::kAtt) {
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
        d_att[c][v] = fma(a.slope * term, row[c][v], d_att[c][v]);
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
      scatter<T>(a.partial + offset * a.width + feature, place, turned);
    else
      scatter<T>(a.d_row + offset * a.width + feature, place, turned);
  }
  if constexpr (Score::kValues) {
    if (a.d_value != nullptr) {
      if (walk.part)
        scatter<T>(a.partial_value + offset * a.width + feature, place, weighed);
      else
        scatter<T>(a.d_value + offset * a.width + feature, place, weighed);
    }
  }
  if constexpr (Score::kTerms) {
    if (a.d_term != nullptr && place.has_head && place.feature == place.head * a.width)
      (walk.part ? a.partial_term : a.d_term)[offset + place.head] = term;
  }
}

}  // namespace adj::kernels::cuda
