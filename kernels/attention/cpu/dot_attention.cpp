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
        factors(data_or_null<T>(args.s)),
        keys_are_values(!args.v),
        attr(args.attr),
        u(data_or_null<S>(args.u)) {
    if constexpr (requires { args.d_o_attr; }) {
      o_attr = data_or_null<S>(args.o_attr);
      d_o_attr = data_or_null<S>(args.d_o_attr);
    }
  }

  /// H rows of E numbers of a target or an edge.
  const S* features_of(const S* matrix, int64_t row) const {
    return matrix + row * this->g.heads * attr.count;
  }

  /// Δ of a target, including o_attr's share.
  void delta(int64_t row, T* sums) const {
    Outputs<S>::delta(row, sums);
    if (o_attr == nullptr) return;
    const S *a = features_of(o_attr, row), *b = features_of(d_o_attr, row);
    for (int64_t h = 0; h < this->g.heads; ++h)
      for (int64_t i = h * attr.count; i < (h + 1) * attr.count; ++i) sums[h] += widen(a[i]) * widen(b[i]);
  }
  /// e [count, H] = the logits of a target.
  void logits(const EdgeRows& rows, const Segment& segment, T* e) const {
    const int64_t heads = this->g.heads, pitch = this->g.pitch;
    this->g.dots(segment.count(), rows.gathered(k, pitch, segment.begin, true),
                 DotWith<S>{q + segment.row * pitch}, e);
    if (attr)
      for (int64_t n = 0; n < segment.count(); ++n)
        add_feature_dots(heads, attr.count, features_of(u, segment.row),
                         attr.row(rows.edge(segment.begin + n)), e + n * heads);
    const T factor = scale;
#pragma omp simd
    for (int64_t i = 0; i < segment.count() * heads; ++i) e[i] *= factor;
  }
};

/// dq, du and dattr. State: Σ de k, then Σ de attr.
template <class S>
struct Targets {
  using T = Scalar<S>;
  const Operands<S>& operands;
  EdgeRows rows;
  const EdgeTerms<T>& terms;
  S* dq;  ///< or null, like the others
  S* du;
  T* dattr;

  int64_t numbers() const { return operands.g.pitch + operands.g.heads * operands.attr.count; }

  struct Local {
    const Targets& body;
    Coefficients<S> coefficients{body.operands, body.rows};
    RowDelta<S, Operands<S>> delta{body.operands};
    std::vector<T> dots = body.operands.room(), row_state = room_for<S>(body.numbers());

    T* state() { return row_state.data(); }

    void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
      const Operands<S>& operands = body.operands;
      const HeadRows<S>& g = operands.g;
      const EdgeRows& rows = body.rows;
      for (const Segment& segment : segments) {
        const int64_t offset = segment.begin - begin, count = segment.count();
        T *e = coefficients.alpha(offset), *gains = dots.data() + offset * g.heads;
        operands.logits(rows, segment, e);
        coefficients.subtract_lse(offset, count, segment.row);
        g.dots(count, rows.gathered(operands.values, g.pitch, segment.begin, !operands.keys_are_values),
               DotWith<S>{operands.d_o + segment.row * g.pitch}, gains);
        for (int64_t k = 0; k < count && (operands.factors != nullptr || operands.attr); ++k) {
          T* gain = gains + k * g.heads;
          if (operands.factors != nullptr) {
            const T* factor = operands.factors + rows.columns[segment.begin + k] * g.heads;
            for (int64_t h = 0; h < g.heads; ++h) gain[h] *= factor[h];
          }
          if (operands.attr)
            add_feature_dots(g.heads, operands.attr.count,
                             operands.features_of(operands.d_o_attr, segment.row),
                             operands.attr.row(rows.edge(segment.begin + k)), gain);
        }
      }
      coefficients.make(begin, end);
      for (const Segment& segment : segments) {
        const int64_t offset = segment.begin - begin, count = segment.count();
        T* de = dots.data() + offset * g.heads;
        coefficients.gradients(offset, count, delta(segment.row), de);
        if (body.dq != nullptr)
          g.accumulate(count, de, rows.gathered(operands.k, g.pitch, segment.begin), segment.first,
                       row_state.data());
        if (operands.attr) of_features(segment, offset, de);
        if (segment.last) finish(segment.row);
      }
      if (body.terms) body.terms.put(rows, begin, end - begin, coefficients.kept(0), dots.data());
    }
    void finish(int64_t row) {
      const Operands<S>& operands = body.operands;
      const HeadRows<S>& g = operands.g;
      const T scale = operands.scale;
      const T* sums = row_state.data();
      if (body.dq != nullptr)
        map_row(g, body.dq + row * g.pitch,
                [&](int64_t column, int n, int64_t) { return scale * simd::load_first(sums + column, n); });
      if (body.du == nullptr) return;
      const int64_t n = g.heads * operands.attr.count;
      const T* feature_sums = sums + g.pitch;
      S* du = body.du + row * n;
      for (int64_t i = 0; i < n; ++i) du[i] = narrow<S>(scale * feature_sums[i]);
    }

   private:
    void of_features(const Segment& segment, int64_t offset, const T* de) {
      const Operands<S>& operands = body.operands;
      const int64_t heads = operands.g.heads, features = operands.attr.count;
      T* sums = row_state.data() + operands.g.pitch;
      if (segment.first) std::fill_n(sums, heads * features, T{0});
      const S *u = operands.features_of(operands.u, segment.row),
              *d_o_attr = operands.features_of(operands.d_o_attr, segment.row);
      for (int64_t k = 0; k < segment.count(); ++k) {
        const int64_t edge = body.rows.edge(segment.begin + k);
        add_weighted_features(heads, features, de + k * heads, operands.attr.row(edge), sums);
        if (body.dattr == nullptr) continue;
        T* gradient = body.dattr + edge * features;
        std::fill_n(gradient, features, T{0});
        for (int64_t h = 0; h < heads; ++h) {
          const T by_logit = operands.scale * de[k * heads + h], by_value = coefficients.kept(offset + k)[h];
          for (int64_t e = 0; e < features; ++e)
            gradient[e] +=
                by_logit * widen(u[h * features + e]) + by_value * widen(d_o_attr[h * features + e]);
        }
      }
    }
  };
};

/// dk, dv and ds. State: Σ de q, then Σ m α dO.
template <class S>
struct Sources {
  using T = Scalar<S>;
  const Operands<S>& operands;
  EdgeRows rows;
  const EdgeTerms<T>& terms;
  S* dk;  ///< or null, like the others
  S* dv;
  T* ds;

  int64_t numbers() const { return 2 * operands.g.pitch; }

  struct Local {
    const Sources& body;
    std::vector<T> kept = body.operands.room(), gradients = kept, factor = room_for<S>(body.operands.g.heads),
                   row_state = room_for<S>(body.numbers());

    T* state() { return row_state.data(); }

    void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
      const Operands<S>& operands = body.operands;
      const HeadRows<S>& g = operands.g;
      const EdgeRows& rows = body.rows;
      body.terms.take(rows, begin, end - begin, kept.data(), gradients.data());
      T *by_query = row_state.data(), *by_value = by_query + g.pitch;
      for (const Segment& segment : segments) {
        const int64_t offset = (segment.begin - begin) * g.heads, count = segment.count();
        g.accumulate(count, kept.data() + offset, rows.gathered(operands.d_o, g.pitch, segment.begin, true),
                     segment.first, by_value);
        if (body.dk != nullptr)
          g.accumulate(count, gradients.data() + offset,
                       rows.gathered(operands.q, g.pitch, segment.begin, true), segment.first, by_query);
        if (segment.last) finish(segment.row);
      }
    }
    void finish(int64_t row) {
      const Operands<S>& operands = body.operands;
      const HeadRows<S>& g = operands.g;
      const T scale = operands.scale, *by_query = row_state.data(), *by_value = by_query + g.pitch;
      if (body.dv != nullptr)
        map_row(g, body.dv + row * g.pitch,
                [&](int64_t column, int n, int64_t) { return simd::load_first(by_value + column, n); });
      if (body.ds != nullptr) g.dot(by_value, operands.k + row * g.pitch, nullptr, body.ds + row * g.heads);
      if (body.dk == nullptr) return;
      if (operands.factors != nullptr) {
        std::copy_n(operands.factors + row * g.heads, g.heads, factor.data());
      } else {
        std::fill_n(factor.data(), g.heads, operands.keys_are_values ? T{1} : T{0});
      }
      map_row(g, body.dk + row * g.pitch, [&](int64_t column, int n, int64_t v) {
        const auto of_logits = scale * simd::load_first(by_query + column, n);
        if (!operands.keys_are_values) return of_logits;
        return of_logits + g.expanded(factor.data(), v) * simd::load_first(by_value + column, n);
      });
    }
  };
};

}  // namespace

void dot_attention(const DotAttentionArgs& args) {
  dispatch_features(args.q.dtype(), [&]<class S>() {
    const Operands<S> operands(args);
    const EdgeRows rows(args.a);
    const auto logits = [&](int64_t begin, std::span<const Segment> segments, Scalar<S>* e) {
      for (const Segment& segment : segments)
        operands.logits(rows, segment, e + (segment.begin - begin) * operands.g.heads);
    };
    Attend<S>(args, operands.g, logits, operands.values, !operands.keys_are_values, operands.factors,
              operands.attr)
        .run(operands.g.span());
  });
}

void dot_attention_backward(const DotAttentionBackwardArgs& args) {
  dispatch_features(args.q.dtype(), [&]<class S>() {
    using T = Scalar<S>;
    const Operands<S> operands(args);
    const EdgeTerms<T> terms(args.a, operands.g.heads, args.dk || args.dv || args.ds);
    if (terms || args.dq || args.du || args.dattr)
      walk_spans<T>(args.a.csr, operands.g.span(),
                    Targets<S>{operands, EdgeRows(args.a), terms, mutable_data_or_null<S>(args.dq),
                               mutable_data_or_null<S>(args.du), mutable_data_or_null<T>(args.dattr)});
    if (terms)
      walk_spans<T>(args.at.csr, operands.g.span(),
                    Sources<S>{operands, EdgeRows(args.at), terms, mutable_data_or_null<S>(args.dk),
                               mutable_data_or_null<S>(args.dv), mutable_data_or_null<T>(args.ds)});
  });
}

}  // namespace adj::kernels::cpu
