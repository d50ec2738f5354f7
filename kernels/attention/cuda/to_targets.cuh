#pragma once

// Backward pass by target: gathers source features; writes dq, dl and datt, Δ, and, if needed, the gradients
// of the logits and the weights m α of every entry.

#include <adjoint/kernels/attention/cuda/backward.cuh>

namespace adj::kernels::cuda {

template <class T, class Score, bool kEdges, bool kBias>
class TargetPass : RowPass<T, Score, kEdges, BackwardArguments<typename T::S>> {
  using Base = RowPass<T, Score, kEdges, BackwardArguments<typename T::S>>;
  using Base::a, Base::place, Base::walk, Base::count, Base::edge, Base::is_entry, Base::kBatch, Base::kOwned,
      Base::for_each_feature;
  using typename Base::S, typename Base::A;

 public:
  __device__ __forceinline__ explicit TargetPass(const BackwardArguments<S>& arguments)
      : Base(arguments),
        delta_given(sizeof(S) == 2 && a.o == nullptr),
        source(rows_at(a.source, place.read_feature)),
        value(Score::kValues ? rows_at(a.value, place.read_feature) : nullptr),
        target(Score::kRows ? rows_at(a.target, place.read_feature) : nullptr),
        ahead(a, place, a.source) {}

  __device__ __forceinline__ void run() {
    if constexpr (Score::kAtt) {
      gather_wide<T>(rows_at(a.att, place.read_feature), 0, 0, true, place, kLog2E<A>, att);
      clear<T>(d_att);
    }
    const int step = static_cast<int>(gridDim.x) * place.groups;
    for (int item = this->first_item(); __any_sync(kAllLanes, item < a.items); item += step) {
      walk.begin(a, item);
      delta = 0;
      begin_row();
      if (kAsksAhead<T, Score> && a.ahead > 0) ahead.begin(a, walk);
      this->begin_entries();
      while (__any_sync(kAllLanes, walk.active())) {
        this->begin_batch();
        Batch batch;
        gather_batch(batch);
        find_products(batch);
        find_gradients(batch);
        if constexpr (Score::kRows) add_rows(batch);
        const bool ended = this->advance();
        if (!__any_sync(kAllLanes, ended)) continue;
        const A row_term = Score::kRows ? A(0) : sum_of_owned<T>(term_sum);
        if (!ended) continue;
        leave_row(row_term);
        walk.next_row(a);
        begin_row();
      }
    }
    if constexpr (Score::kAtt) leave_att();
  }

 private:
  /// Rows; of owned entries the sources' terms, logits, ⟨dO, v⟩ and gradients.
  struct Batch {
    RowFeatures<T> row_of[kBatch], value_of[Score::kValues ? kBatch : 1];
    A term[kOwned] = {}, logit[kBatch], dot[kBatch], de[kBatch];
  };

  /// Requests a row's data at the end of the previous row; look_at_row() uses them only after the row's first
  /// entries are requested as well: one wait instead of two.
  __device__ __forceinline__ void begin_row() {
    const bool wanted = walk.active(), has_term = wanted && place.has_head;
    const int64_t index = int64_t{walk.row} * a.heads + place.head;
    if constexpr (Score::kRows)
      gather_own<T>(target, walk.row, a.pitch, wanted, place, own_asked);
    else
      own_term = has_term ? a.l[index] : A(0);
    gather_own<T>(rows_at(a.d_o, place.read_feature), walk.row, a.pitch, wanted, place, d_o_asked);
    if (delta_given)
      delta = has_term ? a.delta[index] : A(0);
    else
      gather_own<T>(rows_at(a.o, place.read_feature), walk.row, a.pitch, wanted, place, o_asked);
    lse = has_term ? a.lse[index] : A(0);
    term_sum = 0;
    clear<T>(sum);
    is_new = true;
  }
  /// All lanes of the warp are converged here.
  __device__ __forceinline__ void look_at_row() {
    const bool wanted = walk.active();
    A dot = 0;
    if (is_new) {
      if constexpr (Score::kRows)
        widen_row<T>(own_asked, wanted, place, Score::target_factor(a) * a.product_scale(), row);
      widen_row<T>(d_o_asked, wanted, place, A(1), d_o);
      [[maybe_unused]] WideFeatures<T> bias;  // contained in O in addition to the row's sum
      if constexpr (kBias) gather_wide<T>(rows_at(a.bias, place.read_feature), 0, 0, true, place, A(1), bias);
      for_each_feature([&](int c, int v) {
        A o = o_asked[c][v];
        if constexpr (kBias) o -= bias[c][v];  // exact if the bias dominates
        if (wanted && !delta_given) dot = fma(d_o[c][v], o, dot);
      });
    }
    dot = sum_of_head<T>(dot);
    if (!is_new) return;
    is_new = false;
    if (delta_given) return;
    delta = dot;
    if (!wanted || !place.has_head) return;
    const int64_t index = int64_t{walk.row} * a.heads + place.head;
    if (a.delta_more != nullptr) delta += a.delta_more[index];
    if (place.t == 0 && walk.first_part) a.delta[index] = delta;
  }

  /// Requests the batch's rows, the sources' terms and the next columns.
  __device__ __forceinline__ void gather_batch(Batch& batch) {
    this->gather_rows(source, batch.row_of);
    if constexpr (Score::kValues) this->gather_rows(value, batch.value_of);
    if (kAsksAhead<T, Score> && a.ahead > 0) ahead.ask(a, walk);
    if (kLooksFirst<Score> && __any_sync(kAllLanes, is_new)) look_at_row();
    this->own_entries([&](int k, int entry) {
      if constexpr (Score::kTerms) batch.term[k] = this->source_term(entry);
    });
    if (!kLooksFirst<Score> && __any_sync(kAllLanes, is_new)) look_at_row();
  }

  /// Logits, and ⟨dO, v⟩.
  __device__ __forceinline__ void find_products(Batch& batch) {
#pragma unroll
    for (int u = 0; u < kBatch; ++u) {
      A linear = 0, above = 0, g = 0;
      for_each_feature([&](int c, int v) {
        const A x = batch.row_of[u][c][v];
        g = fma(d_o[c][v], Score::kValues ? batch.value_of[Score::kValues ? u : 0][c][v] : x, g);
        if constexpr (Score::kAtt) linear = fma(att[c][v], x, linear);
        if constexpr (Score::kRows) above = Score::logit(above, x, row[c][v], att[c][v]);
      });
      batch.logit[u] = Score::kAtt ? fma(a.slope, linear, (A(1) - a.slope) * above) : above;
      batch.dot[u] = g;
    }
    if constexpr (Score::kRows)
      sum_and_own<T>(batch.logit, batch.dot, place.t);
    else
      sum_and_own<T>(batch.dot, place.t);
  }

  /// The logits' gradients, and what is kept of each entry.
  __device__ __forceinline__ void find_gradients(Batch& batch) {
    bool kept[kOwned];
    this->read_kept(kept);
#pragma unroll
    for (int k = 0; k < kOwned; ++k) {
      batch.de[k] = 0;
      if (!is_entry[k]) continue;
      const A slope = this->complete_logit(k, own_term, batch.term[k], batch.logit[k]);
      const A alpha = coefficient<Score>(batch.logit[k], lse * Score::template kUnit<A>);
      const A factor = this->drops ? (kept[k] ? a.kept_scale : A(0)) : A(1);
      A g = Score::kScaled ? batch.dot[k] * batch.term[k] : batch.dot[k];
      if (kEdges && a.g != nullptr) g += a.g[edge[k]];
      batch.de[k] = alpha * (factor * g - delta) * slope;
      term_sum += batch.de[k];
      if (T::kShare == 1 || place.t % T::kShare == 0) leave_entry(k, alpha * factor, batch.de[k]);
    }
  }
  __device__ __forceinline__ void leave_entry(int k, A weight, A de) const {
    if (a.kept != nullptr) {
      const int entry = walk.entry + owned_slot<T>(place.t, k);
      const int64_t number = a.order == nullptr ? entry : __ldg(a.order + entry);
      const int group_head = place.head & (a.side - 1);  // side is a power of two
      a.kept[(int64_t{blockIdx.y} * a.entries + number) * a.side + group_head] = {weight, de};
    }
    if (kEdges && a.logit_gradient != nullptr) a.logit_gradient[edge[k]] = de;
    if (kEdges && a.weight != nullptr) a.weight[edge[k]] = weight;
  }

  __device__ __forceinline__ void add_rows(const Batch& batch) {
#pragma unroll
    for (int u = 0; u < kBatch; ++u) {
      const A d = owned_by<T>(batch.de, u);
      const bool is_row = u < count;
      for_each_feature([&](int c, int v) {
        const A x = batch.row_of[u][c].again(v);
        if (Score::kAtt && is_row) d_att[c][v] = fma(d, larger(x, row[c][v]), d_att[c][v]);
        if (is_row) Score::d_target(sum[c][v], d, x, row[c][v]);
      });
    }
  }

  __device__ __forceinline__ void leave_row(A row_term) {
    if constexpr (Score::kRows) {
      if (a.d_row == nullptr) return;
      for_each_feature([&](int c, int v) { sum[c][v] *= Score::d_target_factor(a, att[c][v]); });
      this->leave_features(a.d_row, a.partial, sum);
    } else if (place.t == 0 && place.has_head && a.d_term != nullptr) {
      if (walk.part)
        a.partial_term[int64_t{walk.slot} * a.heads + place.head] = row_term;
      else
        a.d_term[int64_t{walk.row} * a.heads + place.head] = row_term;
    }
  }
  __device__ __forceinline__ void leave_att() {
    if (a.d_att == nullptr) return;
    for_each_feature([&](int c, int v) { d_att[c][v] *= A(1) - a.slope; });
    leave_sum_of_groups<T>(d_att, place, a.d_att + int64_t{blockIdx.x} * a.heads * a.width + place.feature);
  }

  // Δ is given only in passes over the rest of a cut, whose operands have 2 bytes: for other types this is a
  // compile-time constant.
  const bool delta_given;
  const char *source, *value, *target;
  RowsAhead<T> ahead;
  WideFeatures<T> att, d_att;
  // The target: what was requested, and its features, dO, sum and terms.
  RowFeatures<T> own_asked, d_o_asked, o_asked;
  bool is_new;
  WideFeatures<T> row, d_o, sum;
  A own_term = 0, lse, delta, term_sum;
};

template <class T, class Score, bool kEdges, bool kBias>
__global__ void __launch_bounds__(T::kThreads, kBackwardBlocks<T, Score>)
    attention_to_targets(const __grid_constant__ BackwardArguments<typename T::S> a) {
  begin_overlapping();
  TargetPass<T, Score, kEdges, kBias>(a).run();
}

}  // namespace adj::kernels::cuda
