#pragma once

#include <adjoint/kernels/attention/cpu/attention_mask.h>
#include <adjoint/kernels/attention/cpu/edge_spans.h>
#include <adjoint/kernels/attention/cpu/head_rows.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/cpu/vector_math.h>

#include <span>
#include <vector>

// Shared by the attentions' passes.
namespace adj::kernels::cpu {

/// A structure as the passes read it.
struct EdgeRows {
  const Csr& csr;
  const int64_t* offsets;
  const int32_t* columns;
  const int32_t* order;  ///< null: entry k is edge k

  explicit EdgeRows(const CsrMatrix& a)
      : csr(a.csr),
        offsets(a.csr.offsets.data<int64_t>()),
        columns(a.csr.indices.data<int32_t>()),
        order(data_or_null<int32_t>(a.order)) {}

  const int32_t* last() const { return columns + csr.entries() - 1; }
  int64_t edge(int64_t k) const { return order == nullptr ? k : order[k]; }
  /// The rows of `x` gathered by entries from `begin` on. `first`: not prefetched before.
  template <class R>
  GatheredRows<R> gathered(const R* x, int64_t pitch, int64_t begin, bool first = false) const {
    const bool far = static_cast<size_t>(csr.cols * pitch) * sizeof(R) >= kFarBytes;
    return {x, columns + begin, pitch, first && far ? last() : nullptr};
  }
};

template <class T>
[[gnu::flatten]] void exponentials(T* e, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) e[i] = fast_exp(e[i]);
}

/// y[h, :] = narrow(x[h, :] factors[h] + bias[h, :]); bias may be null.
template <class S>
void scale_heads(const HeadRows<S>& g, const Scalar<S>* x, const Scalar<S>* factors, const S* bias, S* y) {
  g.each_vector([&](int64_t column, int n, int64_t v) {
    Vector<S> scaled = simd::load_first(x + column, n) * g.expanded(factors, v);
    if (bias != nullptr) scaled += simd::load_first(bias + column, n);
    simd::store_first(y + column, scaled, n);
  });
}
/// Vectors of y = f(column, elements, vector number).
template <class S, class R, class F>
void map_row(const HeadRows<S>& g, R* y, F&& f) {
  g.each_vector([&](int64_t column, int n, int64_t v) { simd::store_first(y + column, f(column, n, v), n); });
}

/// Per-head values of entries or rows, with room for a vector beyond the last.
template <class S>
std::vector<Scalar<S>> room_for(int64_t n) {
  return std::vector<Scalar<S>>(static_cast<size_t>(n + HeadRows<S>::kLane));
}

/// Edge features, attr [M,E], which are also weighted per head.
template <class T>
struct EdgeFeatures {
  const T* attr = nullptr;
  int64_t count = 0;

  EdgeFeatures() = default;
  explicit EdgeFeatures(const Tensor& of_edges) {
    if (!of_edges) return;
    attr = of_edges.data<T>();
    count = heads_of(of_edges);
  }
  explicit operator bool() const { return attr != nullptr; }
  const T* row(int64_t edge) const { return attr + edge * count; }
};

/// out[h] += ⟨rows[h, :], attr⟩, for H rows of E numbers.
template <class S, class T>
void add_feature_dots(int64_t heads, int64_t features, const S* rows, const T* attr, T* out) {
  for (int64_t h = 0; h < heads; ++h) {
    const S* row = rows + h * features;
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t e = 0; e < features; ++e) sum += widen(row[e]) * attr[e];
    out[h] += sum;
  }
}
/// sum[h, :] += w[h] attr.
template <class T>
void add_weighted_features(int64_t heads, int64_t features, const T* w, const T* attr, T* sum) {
  for (int64_t h = 0; h < heads; ++h) {
    const T weight = w[h];
    T* output = sum + h * features;
#pragma omp simd
    for (int64_t e = 0; e < features; ++e) output[e] += weight * attr[e];
  }
}

/// Forward values read by every backward pass.
template <class S>
struct Outputs {
  using T = Scalar<S>;
  HeadRows<S> g;
  const AttentionDropout& dropout;
  const S* bias = nullptr;  ///< contained in o
  const S* o = nullptr;
  const S* d_o = nullptr;
  const T* lse = nullptr;

  /// For a forward pass, which has no outputs yet: dimensions only.
  template <class Args>
  Outputs(const Args& args, int64_t heads) : g(heads, args.head_width()), dropout(args.dropout) {
    if constexpr (requires { args.d_o; }) {
      o = args.o.template data<S>();
      d_o = args.d_o.template data<S>();
      lse = args.lse.template data<T>();
      if constexpr (requires { args.bias; }) bias = data_or_null<S>(args.bias);
    }
  }

  /// Room for a number per head and entry of a span.
  std::vector<T> room() const { return room_for<S>(g.span() * g.heads); }
  /// Δ of a target.
  void delta(int64_t row, T* deltas) const { g.dot(d_o + row * g.pitch, o + row * g.pitch, bias, deltas); }
  void all_deltas(int64_t rows, T* deltas) const {
    for_rows(rows, g.pitch, [&](int64_t i) { delta(i, deltas + i * g.heads); });
  }
};

/// Per-edge values handed from the target pass to the source pass: two numbers per head, a and b [H] of edge
/// e at [2 H e]. The source pass then reads 8 H bytes instead of gathering rows of both sides for two dot
/// products and a target's logit terms, and drawing the edge's dropout out of order. Lives only for the two
/// passes.
template <class T>
class EdgeTerms {
 public:
  /// For source passes; `wanted` false: none.
  EdgeTerms(const CsrMatrix& a, int64_t heads, bool wanted)
      : heads_(heads),
        terms_(wanted ? Tensor::empty({a.csr.entries(), 2 * heads}, dtype_of<T>()) : Tensor()),
        all_(wanted ? terms_.mutable_data<T>() : nullptr) {}

  explicit operator bool() const { return all_ != nullptr; }

  /// Stores those of the entries [begin, begin + count), a [k H + h] and b likewise.
  void put(const EdgeRows& rows, int64_t begin, int64_t count, const T* a, const T* b) const {
    with_few(heads_, [&]<int kHeads>() { put<kHeads>(heads_, rows.order, begin, count, a, b, all_); });
  }
  void take(const EdgeRows& rows, int64_t begin, int64_t count, T* a, T* b) const {
    const int64_t last = rows.csr.entries() - 1;
    with_few(heads_, [&]<int kHeads>() { take<kHeads>(heads_, rows.order, last, begin, count, all_, a, b); });
  }

 private:
  /// Prefetch distance, larger than for feature rows: an entry's terms are a cache line or two used in a few
  /// cycles, and all of them are many times a feature matrix.
  static constexpr int64_t kTermsAhead = 4 * kAhead;

  template <int kHeads>
  static void put(int64_t heads, const int32_t* order, int64_t begin, int64_t count, const T* a, const T* b,
                  T* all) {
    const int64_t n = kHeads > 0 ? kHeads : heads;
    for (int64_t k = 0; k < count; ++k) {
      T* destination = all + (order == nullptr ? begin + k : order[begin + k]) * 2 * n;
      move<kHeads>(a + k * n, n, destination);
      move<kHeads>(b + k * n, n, destination + n);
    }
  }
  template <int kHeads>
  static void take(int64_t heads, const int32_t* order, int64_t last, int64_t begin, int64_t count,
                   const T* all, T* a, T* b) {
    const int64_t n = kHeads > 0 ? kHeads : heads;
    const auto of_edge = [=](int64_t k) { return all + (order == nullptr ? k : order[k]) * 2 * n; };
    for (int64_t k = 0; k < count; ++k) {
      __builtin_prefetch(of_edge(std::min(begin + k + kTermsAhead, last)), 0, 2);
      const T* source = of_edge(begin + k);
      move<kHeads>(source, n, a + k * n);
      move<kHeads>(source + n, n, b + k * n);
    }
  }
  template <int kHeads>
  static void move(const T* source, int64_t heads, T* destination) {
    if constexpr (kHeads > 0) {
      store_few(destination, load_few<kHeads>(source));
    } else {
      std::copy_n(source, heads, destination);
    }
  }

  int64_t heads_;
  Tensor terms_;
  T* all_;
};

/// Δ of the current row.
template <class S, class Operands>
class RowDelta {
 public:
  using T = Scalar<S>;
  explicit RowDelta(const Operands& operands) : operands_(operands), delta_(room_for<S>(operands.g.heads)) {}
  const T* operator()(int64_t row) {
    if (row != row_) operands_.delta(row, delta_.data());
    row_ = row;
    return delta_.data();
  }

 private:
  const Operands& operands_;
  std::vector<T> delta_;
  int64_t row_ = -1;
};

/// Backward coefficients of a span's entries, [k H + h] from the span's first: α, α times dropout's m, and
/// de.
template <class S>
class Coefficients {
 public:
  using T = Scalar<S>;
  Coefficients(const Outputs<S>& outputs, const EdgeRows& rows)
      : heads_(outputs.g.heads),
        lse_(outputs.lse),
        last_(rows.last()),
        by_head_(heads_),
        mask_(outputs.dropout, rows.order, heads_),
        alpha_(room_for<S>(outputs.g.span() * heads_)),
        gathered_(alpha_) {
    if (mask_.drops()) kept_ = alpha_;
  }

  T* alpha(int64_t offset) { return alpha_.data() + offset * heads_; }
  T* kept(int64_t offset) { return (mask_.drops() ? kept_ : alpha_).data() + offset * heads_; }

  /// Subtracts a target's lse from the logits in alpha(offset), one segment at a time.
  void subtract_lse(int64_t offset, int64_t count, int64_t target) {
    by_head_.combine(alpha(offset), count, lse_ + target * heads_, std::minus());
  }
  /// The same for entries whose columns are targets.
  void subtract_lse(int64_t offset, int64_t count, const int32_t* targets) {
    gather_terms(heads_, GatheredRows<T>{lse_, targets, heads_, last_}, count, gathered_.data());
    T *e = alpha(offset), *lse = gathered_.data();
#pragma omp simd
    for (int64_t i = 0; i < count * heads_; ++i) e[i] -= lse[i];
  }
  /// Turns logits less lse into coefficients.
  void make(int64_t begin, int64_t end) {
    exponentials(alpha_.data(), (end - begin) * heads_);
    if (!mask_.drops()) return;
    std::copy_n(alpha_.data(), (end - begin) * heads_, kept_.data());
    mask_.apply(begin, end - begin, kept_.data());
  }

  /// g = m α g - α Δ, the logits' gradients, with Δ of their target.
  void gradients(int64_t offset, int64_t count, const T* delta, T* g) {
    by_head_.multiply_and_subtract(kept(offset), alpha(offset), delta, count, g);
  }
  /// The same for entries whose columns are targets.
  void gradients(int64_t offset, int64_t count, const T* delta, const int32_t* targets, T* g) {
    gather_terms(heads_, GatheredRows<T>{delta, targets, heads_, last_}, count, gathered_.data());
    const T *a = alpha(offset), *m = kept(offset), *d = gathered_.data();
#pragma omp simd
    for (int64_t i = 0; i < count * heads_; ++i) g[i] = m[i] * g[i] - a[i] * d[i];
  }

 private:
  int64_t heads_;
  const T* lse_;
  const int32_t* last_;
  ByHead<T> by_head_;
  AttentionMask<T> mask_;
  std::vector<T> alpha_, kept_, gathered_;
};

}  // namespace adj::kernels::cpu
