#pragma once

// Backward pass by source over the transposed structure: gathers target features and dO, and recomputes the
// logits.

#include <adjoint/kernels/attention/cuda/backward.cuh>

namespace adj::kernels::cuda {

template <class T, class Score, bool kEdges>
class SourcePass : RowPass<T, Score, kEdges, BackwardArguments<typename T::S>> {
  using Base = RowPass<T, Score, kEdges, BackwardArguments<typename T::S>>;
  using Base::a, Base::place, Base::walk, Base::count, Base::edge, Base::is_entry, Base::kBatch, Base::kOwned,
      Base::for_each_feature;
  using typename Base::S, typename Base::A;

 public:
  __device__ __forceinline__ explicit SourcePass(const BackwardArguments<S>& arguments)
      : Base(arguments),
        outputs(rows_at(a.d_o, place.read_feature)),
        target(Score::kRows ? rows_at(a.target, place.read_feature) : nullptr),
        value(rows_at(Score::kValues ? a.value : a.source, place.read_feature)) {}

  __device__ __forceinline__ void run() {
    if constexpr (Score::kAtt) {
      gather_wide<T>(rows_at(a.att, place.read_feature), 0, 0, true, place, kLog2E<A>, att);
      clear<T>(d_att);
    }
    const int step = static_cast<int>(gridDim.x) * place.groups;
    for (int item = this->first_item(); __any_sync(kAllLanes, item < a.items); item += step) {
      walk.begin(a, item);
      begin_row();
      this->begin_entries();
      while (__any_sync(kAllLanes, walk.active())) {
        this->begin_batch();
        Batch batch;
        gather_batch(batch);
        find_products(batch);
        find_gradients(batch);
        add_rows(batch);
        const bool ended = this->advance();
        if (!__any_sync(kAllLanes, ended)) continue;
        const A term = Score::kValues ? A(0) : sum_of_owned<T>(term_sum);
        if (!ended) continue;
        leave_source_row<T, Score>(a, place, walk, row, att, own_term, term, weighed, turned, d_att);
        walk.next_row(a);
        begin_row();
      }
    }
    if constexpr (Score::kAtt)
      if (a.d_att != nullptr)
        leave_sum_of_groups<T>(d_att, place,
                               a.d_att + int64_t{blockIdx.x} * a.heads * a.width + place.feature);
  }

 private:
  /// Rows; of owned entries the target's terms, logits, ⟨dO, v⟩, weights and gradients.
  struct Batch {
    RowFeatures<T> d_o[kBatch], row_of[Score::kRows ? kBatch : 1];
    A target_term[kOwned] = {}, lse[kOwned] = {}, delta[kOwned] = {};
    A logit[kBatch], dot[kBatch], weight[kBatch], de[kBatch];
  };

  /// Requests a row's data at the end of the previous row; look_at_row() uses them only after the row's first
  /// entries are requested as well: one wait instead of two.
  __device__ __forceinline__ void begin_row() {
    const bool wanted = walk.active();
    gather_own<T>(value, walk.row, a.pitch, wanted, place, own_asked);
    if constexpr (Score::kValues)
      gather_own<T>(rows_at(a.source, place.read_feature), walk.row, a.pitch, wanted, place, key_asked);
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
  }
  /// All lanes of the warp are converged here.
  __device__ __forceinline__ void look_at_row() {
    A dot = 0;
    if (is_new) {
      widen_row<T>(own_asked, walk.active(), place, A(1), row);
      if constexpr (Score::kValues)
        widen_row<T>(key_asked, walk.active(), place, Score::target_factor(a) * a.product_scale(), own_key);
      if constexpr (Score::kAtt)
        for_each_feature([&](int c, int v) { dot = fma(att[c][v], row[c][v], dot); });
    }
    if constexpr (Score::kAtt) {
      dot = sum_of_head<T>(dot);  // s ⟨att, r_j⟩, common to all logits of the row
      if (is_new) own_term = a.slope * dot;
    }
    is_new = false;
  }

  /// Requests the batch's rows, the targets' terms and the next columns.
  __device__ __forceinline__ void gather_batch(Batch& batch) {
    this->gather_rows(outputs, batch.d_o);
    if constexpr (Score::kRows) this->gather_rows(target, batch.row_of);
    if (kLooksFirst<Score> && __any_sync(kAllLanes, is_new)) look_at_row();
    this->own_entries([&](int k, int entry) {
      const int64_t index = int64_t{__ldg(a.indices + entry)} * a.heads + place.head;
      batch.lse[k] = __ldg(a.lse + index);
      batch.delta[k] = __ldg(a.delta + index);
      if constexpr (!Score::kRows) batch.target_term[k] = __ldg(a.l + index);
    });
    if (!kLooksFirst<Score> && __any_sync(kAllLanes, is_new)) look_at_row();
  }

  /// Logits, and ⟨dO, v⟩.
  __device__ __forceinline__ void find_products(Batch& batch) {
#pragma unroll
    for (int u = 0; u < kBatch; ++u) {
      A above = 0, g = 0;
      for_each_feature([&](int c, int v) {
        g = fma(row[c][v], batch.d_o[u][c][v], g);
        if constexpr (Score::kRows)
          above = Score::logit(above, Score::kValues ? own_key[c][v] : row[c][v],
                               Score::target(batch.row_of[u][c][v]), att[c][v]);
      });
      batch.logit[u] = above;
      batch.dot[u] = g;
    }
    if constexpr (Score::kRows)
      sum_and_own<T>(batch.logit, batch.dot, place.t);
    else
      sum_and_own<T>(batch.dot, place.t);
  }

  /// The weights and the logits' gradients.
  __device__ __forceinline__ void find_gradients(Batch& batch) {
    bool kept[kOwned];
    this->read_kept(kept);
#pragma unroll
    for (int k = 0; k < kOwned; ++k) {
      batch.de[k] = batch.weight[k] = 0;
      if (!is_entry[k]) continue;
      if constexpr (Score::kAtt) batch.logit[k] = fma(A(1) - a.slope, batch.logit[k], own_term);
      if constexpr (Score::kScaled) batch.logit[k] *= Score::target_factor(a);
      const A slope = this->complete_logit(k, own_term, batch.target_term[k], batch.logit[k]);
      const A alpha = coefficient<Score>(batch.logit[k], batch.lse[k] * Score::template kUnit<A>);
      batch.weight[k] = this->drops ? (kept[k] ? alpha * a.kept_scale : A(0)) : alpha;
      A g = Score::kScaled ? batch.dot[k] * own_term : batch.dot[k];
      if (kEdges && a.g != nullptr) g += a.g[edge[k]];
      batch.de[k] = fma(batch.weight[k], g, -alpha * batch.delta[k]) * slope;
      term_sum += Score::kScaled ? batch.weight[k] * batch.dot[k] : batch.de[k];
    }
  }

  __device__ __forceinline__ void add_rows(const Batch& batch) {
#pragma unroll
    for (int u = 0; u < kBatch; ++u) {
      const A w = owned_by<T>(batch.weight, u);
      [[maybe_unused]] const A d = Score::kRows ? owned_by<T>(batch.de, u) : A(0);
      const bool is_row = u < count;
      for_each_feature([&](int c, int v) {
        if (is_row) weighed[c][v] = fma(w, batch.d_o[u][c].again(v), weighed[c][v]);
        if constexpr (Score::kRows) {
          const A x = Score::target(batch.row_of[u][c].again(v));
          if (is_row) Score::d_source(turned[c][v], d, row[c][v], x);
        }
      });
    }
  }

  const char *outputs, *target, *value;
  WideFeatures<T> att, d_att;
  // The source: what was requested, v, r or x, which multiplies dO, dot's k, and its sums.
  RowFeatures<T> own_asked, key_asked;
  bool is_new;
  WideFeatures<T> row, own_key;
  WideFeatures<T> weighed;  ///< Σ m α dO
  WideFeatures<T> turned;   ///< Σ de q, or Σ de [z > 0]
  A own_term = 0, term_sum;
};

template <class T, class Score, bool kEdges>
__global__ void __launch_bounds__(T::kThreads, kBackwardBlocks<T, Score>)
    attention_to_sources(const __grid_constant__ BackwardArguments<typename T::S> a) {
  begin_overlapping();
  SourcePass<T, Score, kEdges>(a).run();
}

}  // namespace adj::kernels::cuda
