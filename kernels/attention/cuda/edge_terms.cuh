#pragma once

// Contribution of edge features [M,E] per (edge, head), and its gradient: passes over entries and over rows
// of E numbers per edge. None of them reads node features.

#include <adjoint/kernels/attention/attention.h>
#include <adjoint/kernels/edge/cuda/edge_rows.cuh>
#include <adjoint/kernels/elementwise/cuda/dropout_mask.cuh>

namespace adj::kernels::cuda {

/// Entry k is in row row[k] and is edge order[k], or k.
struct Entries {
  const int32_t* row;
  const int32_t* order;
  int64_t count;

  __device__ int64_t edge(int64_t k) const { return order == nullptr ? k : int64_t{order[k]}; }
};

/// `row`: of each entry.
inline Entries entries_of(const CsrMatrix& a, const Tensor& row) {
  return {row.data<int32_t>(), data_or_null<int32_t>(a.order), a.csr.entries()};
}

/// int32 [M]: the row of each entry.
inline Tensor rows_of_entries(const Csr& csr) {
  Tensor row = Tensor::empty({csr.entries()}, DType::i32, csr.device());
  cuda::expand_rows({.a = csr, .row = row});
  return row;
}

/// y[edge, h] = factor ⟨u[row, h, :], attr[edge, :]⟩, per (entry, head).
template <class S>
struct EntryProducts {
  using A = Accumulator<S>;
  Entries entries;
  int64_t heads, features;
  A factor;
  const S* u;
  const A* attr;
  A* y;

  __device__ void operator()(int64_t i) const {
    const int64_t k = i / heads, h = i % heads, edge = entries.edge(k);
    const S* const of_row = u + (entries.row[k] * heads + h) * features;
    A sum = 0;
    for (int64_t f = 0; f < features; ++f) sum = fma(A(widen(of_row[f])), attr[edge * features + f], sum);
    y[edge * heads + h] = factor * sum;
  }
};

/// y[edge, h] = m exp(e[edge, h] - lse[row, h]), in-place, per (entry, head).
template <class A>
struct EntryWeights {
  Entries entries;
  int64_t heads;
  DropoutMask dropout;
  A kept_scale;
  const A* lse;
  A* y;

  __device__ void operator()(int64_t i) const {
    const int64_t k = i / heads, h = i % heads, index = entries.edge(k) * heads + h;
    A weight = exp(y[index] - lse[entries.row[k] * heads + h]);
    if (dropout.threshold != 0) weight *= (dropout.template kept<1>(index) & 1u) != 0 ? kept_scale : A(0);
    y[index] = weight;
  }
};

/// dattr[edge, f] = Σ_h factor de[edge, h] u[row, h, f] + w[edge, h] v[row, h, f], per (entry, f).
template <class S>
struct EntryGradients {
  using A = Accumulator<S>;
  Entries entries;
  int64_t heads, features;
  A factor;
  const A* de;
  const S* u;
  const A* w;
  const S* v;
  A* dattr;

  __device__ void operator()(int64_t i) const {
    const int64_t k = i / features, f = i % features, edge = entries.edge(k), row = entries.row[k];
    A sum = 0;
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t index = (row * heads + h) * features + f;
      sum = fma(factor * de[edge * heads + h], A(widen(u[index])), sum);
      sum = fma(w[edge * heads + h], A(widen(v[index])), sum);
    }
    dattr[edge * features + f] = sum;
  }
};

/// y[row, h, f] = factor Σ w[edge, h] attr[edge, f] over the row's entries.
template <class S>
struct RowsOfFeatures {
  using A = Accumulator<S>;
  EntryPlaces place;
  int64_t features;
  A factor;
  const A* w;
  const A* attr;
  S* y;

  template <class Team>
  __device__ void row(const Team& team, const EntryRange& range) const {
    for (int64_t f = 0; f < features; ++f) {
      A sum = 0;
      for (int64_t k = range.begin + team.first(); k < range.end; k += team.step()) {
        const int64_t index = place(k, range.head);
        sum = fma(w[index], attr[index / place.heads * features + f], sum);
      }
      sum = team.reduce(sum, Add{}) * factor;
      if (range.row >= 0 && team.first() == 0)
        y[(range.row * place.heads + range.head) * features + f] = narrow<S>(sum);
    }
  }
};

/// y[p] = ⟨a[p, :], b[p, :]⟩.
template <class S>
struct RowProducts {
  using A = Accumulator<S>;
  int64_t features;
  const S *a, *b;
  A* y;

  __device__ void operator()(int64_t p) const {
    A sum = 0;
    for (int64_t f = 0; f < features; ++f)
      sum = fma(A(widen(a[p * features + f])), A(widen(b[p * features + f])), sum);
    y[p] = sum;
  }
};

}  // namespace adj::kernels::cuda
