// Dot-product attention in one pass over the entries forward, and one per side backward. Saved: O and lse.
// The target pass hands m α and de of every entry to the source pass. Bytes per entry: a row of keys and, if
// separate, one of values (forward and targets), or one of queries and one of dO (sources); E numbers of edge
// features.

#include <adjoint/kernels/attention/cpu/attend.h>
#include <adjoint/kernels/attention/dot_attention.h>

namespace adj::kernels::cpu {

namespace {

template <class S>
struct Operands : Outputs<S> {
  using T = Scalar<S>;
  T scale;
  const S* q;
  const S* k;
  const S* values;   ///< v, or the keys without v
  const T* factors;  ///< s, or null
  bool keys_are_values;
  EdgeFeatures<T> attr;
  const S* u;
  // Backward only:
  const S* o_attr = nullptr;
  const S* d_o_attr = nullptr;

  template <class Args>
  explicit Operands(const Args& args)
      : Outputs<S>(args, args.heads),
        scale(static_cast<T>(args.scale)),
        q(args.q.template data<S>()),
        k(args.k.template data<S>()),
        values(args.v ? args.v.template data<S>() : k),
        factors(args.s ? args.s.template data<T>() : nullptr),
        keys_are_values(!args.v),
        attr(args.attr),
        u(args.u ? args.u.template data<S>() : nullptr) {
    if constexpr (requires { args.d_o_attr; }) {
      if (args.o_attr) o_attr = args.o_attr.template data<S>();
      if (args.d_o_attr) d_o_attr = args.d_o_attr.template data<S>();
    }
  }

  /// H rows of E numbers of a target or an edge.
  const S* features_of(const S* of, int64_t row) const { return of + row * this->g.heads * attr.count; }

  /// Δ of a target, including o_attr's share.
  void delta(int64_t row, T* of) const {
    Outputs<S>::delta(row, of);
    if (o_attr == nullptr) return;
    const S *a = features_of(o_attr, row), *b = features_of(d_o_attr, row);
    for (int64_t h = 0; h < this->g.heads; ++h)
      for (int64_t i = h * attr.count; i < (h + 1) * attr.count; ++i) of[h] += widen(a[i]) * widen(b[i]);
  }
  /// e [count, H] = the logits of a target.
  void logits(const EdgeRows& rows, const Segment& segment, T* e) const {
    const int64_t heads = this->g.heads, pitch = this->g.pitch;
    this->g.dots(segment.count(), rows.gathered(k, pitch, segment.begin, true),
                 DotWith<S>{q + segment.row * pitch}, e);
    if (attr)
      for (int64_t n = 0; n < segment.count(); ++n)
        add_feature_dots(heads, attr.count, features_of(u, segment.row),
                         attr.of(rows.edge(segment.begin + n)), e + n * heads);
    const T by = scale;
#pragma omp simd
    for (int64_t i = 0; i < segment.count() * heads; ++i) e[i] *= by;
  }
};

/// dq, du and dattr. State: Σ de k, then Σ de attr.
template <class S>
struct Targets {
  using T = Scalar<S>;
  const Operands<S>& of;
  EdgeRows rows;
  const EdgeTerms<T>& terms;
  S* dq;  ///< or null, like the others
  S* du;
  T* dattr;

  int64_t numbers() const { return of.g.pitch + of.g.heads * of.attr.count; }

  struct Local {
    const Targets& body;
    Coefficients<S> coefficients;
    RowDelta<S, Operands<S>> delta;
    std::vector<T> dots, row_state;

    explicit Local(const Targets& b)
        : body(b),
          coefficients(b.of, b.rows),
          delta(b.of),
          dots(room_for<S>(b.of.g.span() * b.of.g.heads)),
          row_state(room_for<S>(b.numbers())) {}
    T* state() { return row_state.data(); }

    void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
      const Operands<S>& of = body.of;
      const HeadRows<S>& g = of.g;
      const EdgeRows& rows = body.rows;
      for (const Segment& segment : segments) {
        const int64_t at = segment.begin - begin, count = segment.count();
        T *e = coefficients.alpha(at), *gains = dots.data() + at * g.heads;
        of.logits(rows, segment, e);
        coefficients.subtract_lse(at, count, segment.row);
        g.dots(count, rows.gathered(of.values, g.pitch, segment.begin, !of.keys_are_values),
               DotWith<S>{of.d_o + segment.row * g.pitch}, gains);
        for (int64_t k = 0; k < count && (of.factors != nullptr || of.attr); ++k) {
          T* gain = gains + k * g.heads;
          if (of.factors != nullptr) {
            const T* factor = of.factors + rows.columns[segment.begin + k] * g.heads;
            for (int64_t h = 0; h < g.heads; ++h) gain[h] *= factor[h];
          }
          if (of.attr)
            add_feature_dots(g.heads, of.attr.count, of.features_of(of.d_o_attr, segment.row),
                             of.attr.of(rows.edge(segment.begin + k)), gain);
        }
      }
      coefficients.make(begin, end);
      for (const Segment& segment : segments) {
        const int64_t at = segment.begin - begin, count = segment.count();
        T* de = dots.data() + at * g.heads;
        coefficients.gradients(at, count, delta(segment.row), de);
        if (body.dq != nullptr)
          g.accumulate(count, de, rows.gathered(of.k, g.pitch, segment.begin), segment.first,
                       row_state.data());
        if (of.attr) of_features(segment, at, de);
        if (segment.last) finish(segment.row);
      }
      if (body.terms) body.terms.put(rows, begin, end - begin, coefficients.kept(0), dots.data());
    }
    void finish(int64_t row) {
      const Operands<S>& of = body.of;
      const HeadRows<S>& g = of.g;
      const T scale = of.scale;
      const T* sums = row_state.data();
      if (body.dq != nullptr)
        map_row(g, body.dq + row * g.pitch,
                [&](int64_t at, int n, int64_t) { return scale * simd::load_first(sums + at, n); });
      if (body.du == nullptr) return;
      const int64_t n = g.heads * of.attr.count;
      const T* from = sums + g.pitch;
      S* du = body.du + row * n;
      for (int64_t i = 0; i < n; ++i) du[i] = narrow<S>(scale * from[i]);
    }

   private:
    void of_features(const Segment& segment, int64_t at, const T* de) {
      const Operands<S>& of = body.of;
      const int64_t heads = of.g.heads, features = of.attr.count;
      T* sums = row_state.data() + of.g.pitch;
      if (segment.first) std::fill_n(sums, heads * features, T{0});
      const S *u = of.features_of(of.u, segment.row), *d_o_attr = of.features_of(of.d_o_attr, segment.row);
      for (int64_t k = 0; k < segment.count(); ++k) {
        const int64_t edge = body.rows.edge(segment.begin + k);
        add_weighted_features(heads, features, de + k * heads, of.attr.of(edge), sums);
        if (body.dattr == nullptr) continue;
        T* to = body.dattr + edge * features;
        std::fill_n(to, features, T{0});
        for (int64_t h = 0; h < heads; ++h) {
          const T by_logit = of.scale * de[k * heads + h], by_value = coefficients.kept(at + k)[h];
          for (int64_t e = 0; e < features; ++e)
            to[e] += by_logit * widen(u[h * features + e]) + by_value * widen(d_o_attr[h * features + e]);
        }
      }
    }
  };
};

/// dk, dv and ds. State: Σ de q, then Σ m α dO.
template <class S>
struct Sources {
  using T = Scalar<S>;
  const Operands<S>& of;
  EdgeRows rows;
  const EdgeTerms<T>& terms;
  S* dk;  ///< or null, like the others
  S* dv;
  T* ds;

  int64_t numbers() const { return 2 * of.g.pitch; }

  struct Local {
    const Sources& body;
    std::vector<T> kept, gradients, factor, row_state;

    explicit Local(const Sources& b)
        : body(b),
          kept(room_for<S>(b.of.g.span() * b.of.g.heads)),
          gradients(kept),
          factor(room_for<S>(b.of.g.heads)),
          row_state(room_for<S>(b.numbers())) {}
    T* state() { return row_state.data(); }

    void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
      const Operands<S>& of = body.of;
      const HeadRows<S>& g = of.g;
      const EdgeRows& rows = body.rows;
      body.terms.take(rows, begin, end - begin, kept.data(), gradients.data());
      T *by_query = row_state.data(), *by_value = by_query + g.pitch;
      for (const Segment& segment : segments) {
        const int64_t at = (segment.begin - begin) * g.heads, count = segment.count();
        g.accumulate(count, kept.data() + at, rows.gathered(of.d_o, g.pitch, segment.begin, true),
                     segment.first, by_value);
        if (body.dk != nullptr)
          g.accumulate(count, gradients.data() + at, rows.gathered(of.q, g.pitch, segment.begin, true),
                       segment.first, by_query);
        if (segment.last) finish(segment.row);
      }
    }
    void finish(int64_t row) {
      const Operands<S>& of = body.of;
      const HeadRows<S>& g = of.g;
      const T scale = of.scale, *by_query = row_state.data(), *by_value = by_query + g.pitch;
      if (body.dv != nullptr)
        map_row(g, body.dv + row * g.pitch,
                [&](int64_t at, int n, int64_t) { return simd::load_first(by_value + at, n); });
      if (body.ds != nullptr) g.dot(by_value, of.k + row * g.pitch, nullptr, body.ds + row * g.heads);
      if (body.dk == nullptr) return;
      if (of.factors != nullptr) {
        std::copy_n(of.factors + row * g.heads, g.heads, factor.data());
      } else {
        std::fill_n(factor.data(), g.heads, of.keys_are_values ? T{1} : T{0});
      }
      map_row(g, body.dk + row * g.pitch, [&](int64_t at, int n, int64_t v) {
        const auto of_logits = scale * simd::load_first(by_query + at, n);
        if (!of.keys_are_values) return of_logits;
        return of_logits + g.expanded(factor.data(), v) * simd::load_first(by_value + at, n);
      });
    }
  };
};

}  // namespace

void dot_attention(const DotAttentionArgs& args) {
  dispatch_features(args.q.dtype(), [&]<class S>() {
    const Operands<S> of(args);
    const EdgeRows rows(args.a);
    const auto logits = [&](int64_t begin, std::span<const Segment> segments, Scalar<S>* e) {
      for (const Segment& segment : segments)
        of.logits(rows, segment, e + (segment.begin - begin) * of.g.heads);
    };
    Attend<S>(args, of.g, logits, of.values, !of.keys_are_values, of.factors, of.attr).run(of.g.span());
  });
}

void dot_attention_backward(const DotAttentionBackwardArgs& args) {
  dispatch_features(args.q.dtype(), [&]<class S>() {
    using T = Scalar<S>;
    const Operands<S> of(args);
    const auto data = [](Tensor& tensor) { return tensor ? tensor.mutable_data<S>() : nullptr; };
    const auto accumulators = [](Tensor& tensor) { return tensor ? tensor.mutable_data<T>() : nullptr; };
    const EdgeTerms<T> terms(args.a, of.g.heads, args.dk || args.dv || args.ds);
    if (terms || args.dq || args.du || args.dattr)
      walk_spans<T>(
          args.a.csr, of.g.span(),
          Targets<S>{of, EdgeRows(args.a), terms, data(args.dq), data(args.du), accumulators(args.dattr)});
    if (terms)
      walk_spans<T>(
          args.at.csr, of.g.span(),
          Sources<S>{of, EdgeRows(args.at), terms, data(args.dk), data(args.dv), accumulators(args.ds)});
  });
}

}  // namespace adj::kernels::cpu
