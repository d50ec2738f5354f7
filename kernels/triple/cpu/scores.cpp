// Distances block four entities over a query, which stays in registers by vector lanes; in the backward pass
// a block of a row's columns stays in the cache while all others pass.
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/triple/rules.h>
#include <adjoint/kernels/triple/scores.h>

namespace adj::kernels::cpu {

namespace {

/// Sum of the terms of two rows: `half` 0 for real numbers.
template <TripleScore kScore, class T>
T sum_of_terms(const T* q, const T* t, int64_t units) {
  return sum_of<T>(units, [=](int64_t d) {
    if constexpr (kScore == TripleScore::dot)
      return q[d] * t[d];
    else if constexpr (kScore == TripleScore::modulus)
      return distance_term<kScore>(q[d] - t[d], q[d + units] - t[d + units]);
    else
      return distance_term<kScore>(q[d] - t[d], T{0});
  });
}

/// Adds weight * d score / d q to dq.
template <TripleScore kScore, class T>
void add_directions(T weight, const T* q, const T* t, T* dq, int64_t units) {
#pragma omp simd
  for (int64_t d = 0; d < units; ++d) {
    T none = 0;
    if constexpr (kScore == TripleScore::dot)
      dq[d] += weight * t[d];
    else if constexpr (kScore == TripleScore::modulus)
      add_direction<kScore>(weight, q[d] - t[d], q[d + units] - t[d + units], dq[d], dq[d + units]);
    else
      add_direction<kScore>(weight, q[d] - t[d], T{0}, dq[d], none);
  }
}

}  // namespace

void paired_scores(const PairedScoresArgs& args) {
  const int64_t rows = args.q.size(0), width = args.q.size(1),
                units = units_of(args.score == TripleScore::modulus, width);
  dispatch_float(args.q.dtype(), "paired_scores", [&]<class T>() {
    const T *q = args.q.data<T>(), *t = args.t.data<T>();
    T* y = args.y.mutable_data<T>();
    dispatch_score(args.score, [&]<TripleScore kScore>() {
      for_rows(rows, width, [=, shift = args.shift](int64_t i) {
        y[i] =
            score_of_sum<kScore>(sum_of_terms<kScore>(q + i * width, t + (i + shift) % rows * width, units));
      });
    });
  });
}

void paired_scores_backward(const PairedScoresBackwardArgs& args) {
  const int64_t rows = args.q.size(0), width = args.q.size(1),
                units = units_of(args.score == TripleScore::modulus, width);
  dispatch_float(args.q.dtype(), "paired_scores", [&]<class T>() {
    const T *q = args.q.data<T>(), *t = args.t.data<T>(), *y = args.y.data<T>(), *dy = args.dy.data<T>();
    T *dq = args.dq.mutable_data<T>(), *dt = args.dt.mutable_data<T>();
    dispatch_score(args.score, [&]<TripleScore kScore>() {
      for_rows(rows, width, [=, shift = args.shift](int64_t i) {
        const T weight = score_weight<kScore>(dy[i], y[i]);
        const int64_t row = i * width, other = (i + shift) % rows * width;
        std::fill(dq + row, dq + row + width, T{0});
        std::fill(dt + other, dt + other + width, T{0});
        add_directions<kScore>(weight, q + row, t + other, dq + row, units);
        add_directions<kScore>(weight, t + other, q + row, dt + other, units);
      });
    });
  });
}

void entity_distances(const EntityDistancesArgs& args) {
  const int64_t rows = args.q.size(0), others = args.t.size(0), width = args.q.size(1),
                units = units_of(args.score == TripleScore::modulus, width);
  constexpr int64_t kBlock = 64;  // entities that stay in the cache for several queries
  dispatch_float(args.q.dtype(), "entity_distances", [&]<class T>() {
    const T *q = args.q.data<T>(), *t = args.t.data<T>();
    T* y = args.y.mutable_data<T>();
    dispatch_distance(args.score, [&]<TripleScore kScore>() {
      parallel_for(ceil_div(others, kBlock), 1, [=](int64_t begin, int64_t end) {
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t k = begin * kBlock; k < std::min(others, end * kBlock); ++k)
            y[i * others + k] =
                score_of_sum<kScore>(sum_of_terms<kScore>(q + i * width, t + k * width, units));
      });
    });
  });
}

void entity_distances_backward(const EntityDistancesBackwardArgs& args) {
  const int64_t rows = args.x.size(0), others = args.other.size(0), width = args.x.size(1),
                units = units_of(args.score == TripleScore::modulus, width);
  dispatch_float(args.x.dtype(), "entity_distances", [&]<class T>() {
    const T *x = args.x.data<T>(), *other = args.other.data<T>(), *y = args.y.data<T>(),
            *dy = args.dy.data<T>();
    T* dx = args.dx.mutable_data<T>();
    const int64_t step = args.turned ? 1 : others, stride = args.turned ? rows : 1;
    dispatch_distance(args.score, [&]<TripleScore kScore>() {
      for_rows(rows, width * others, [=, accumulate = args.accumulate](int64_t a) {
        T* out = dx + a * width;
        if (!accumulate) std::fill(out, out + width, T{0});
        for (int64_t c = 0; c < others; ++c) {
          const int64_t k = a * step + c * stride;
          if (dy[k] == 0) continue;
          add_directions<kScore>(score_weight<kScore>(dy[k], y[k]), x + a * width, other + c * width, out,
                                 units);
        }
      });
    });
  });
}

}  // namespace adj::kernels::cpu
