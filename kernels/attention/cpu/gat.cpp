// GAT in one pass over the entries forward, and one per side backward. Saved: O and lse; logits are
// recomputed from the nodes' terms, H numbers per entry. No dot products per entry are needed unless edges
// need a gradient: with s_ij the slope of leaky_relu at an entry, 1 if its sum is positive and `slope`
// otherwise,
//
//   dl_i = Σ_j s_ij de_ij = (1 - slope) (⟨dO_i, P_i⟩ - Δ_i Σ_j+ α_ij),   P_i = Σ_j+ m_ij α_ij x_j,
//   dr_j = Σ_i s_ij de_ij = ⟨x_j, R_j⟩ - Σ_i s_ij α_ij Δ_i,              R_j = Σ_i s_ij m_ij α_ij dO_i,
//
// j+ being the entries with positive sums (dl by Σ_j de_ij = 0). The target pass hands m α, with the sign of
// the entry's sum, and s α Δ of every entry to the source pass. Bytes: a row of features and a few times H
// numbers per entry, the targets' or sources' own rows once.

#include <adjoint/kernels/attention/cpu/attend.h>
#include <adjoint/kernels/attention/gat.h>

namespace adj::kernels::cpu {

namespace {

/// leaky_relu(l_i + r_j + c_ij) of a span's entries, [k H + h] from its first.
template <class S>
struct Sums {
  using T = Scalar<S>;
  EdgeRows rows;
  const T* l;
  const T* r;
  const T* c;
  int64_t heads;
  T slope;
  ByHead<T> by_head;

  Sums(const EdgeRows& edge_rows, const Tensor& of_targets, const Tensor& of_sources, const Tensor& of_edges,
       float leaky)
      : rows(edge_rows),
        l(of_targets.data<T>()),
        r(of_sources.data<T>()),
        c(of_edges ? of_edges.data<T>() : nullptr),
        heads(of_targets.size(1)),
        slope(static_cast<T>(leaky)),
        by_head(heads) {}

  void make(int64_t begin, std::span<const Segment> segments, T* e) const {
    gather(begin, segments.back().end, e);
    for (const Segment& segment : segments)
      by_head.combine(e + (segment.begin - begin) * heads, segment.count(), l + segment.row * heads,
                      [below = slope](auto z, auto term) {
                        z += term;
                        return z > decltype(z){} ? z : below * z;
                      });
  }
  /// Less `lse` [rows,H]; positive[i] is 1 if the sum is positive, else 0.
  void make(int64_t begin, std::span<const Segment> segments, const T* lse, T* e, T* positive) const {
    const int64_t end = segments.back().end;
    gather(begin, end, e);
    for (const Segment& segment : segments)
      by_head.combine(e + (segment.begin - begin) * heads, segment.count(), l + segment.row * heads,
                      std::plus());
    const T below = slope;
#pragma omp simd
    for (int64_t i = 0; i < (end - begin) * heads; ++i) {
      positive[i] = e[i] > T{0} ? T{1} : T{0};
      e[i] = e[i] > T{0} ? e[i] : below * e[i];
    }
    for (const Segment& segment : segments)
      by_head.combine(e + (segment.begin - begin) * heads, segment.count(), lse + segment.row * heads,
                      std::minus());
  }

 private:
  /// The sums without the targets' terms. A separate loop, so that the others vectorize for any number of
  /// heads.
  void gather(int64_t begin, int64_t end, T* e) const {
    gather_terms(heads, rows.gathered(r, heads, begin, true), end - begin, e);
    if (c == nullptr) return;
    for (int64_t k = begin; k < end; ++k) {
      T* output = e + (k - begin) * heads;
      const T* of_edge = c + rows.edge(k) * heads;
      for (int64_t h = 0; h < heads; ++h) output[h] += of_edge[h];
    }
  }
};

/// Operands of both backward passes.
template <class S>
struct Operands : Outputs<S> {
  const S* x;
  Scalar<S> slope;

  explicit Operands(const GatBackwardArgs& args)
      : Outputs<S>(args, args.heads()), x(args.x.data<S>()), slope(static_cast<Scalar<S>>(args.slope)) {}
};

/// Values of a span that the target pass keeps for the source pass.
template <class S>
struct TermsOfSpan {
  using T = Scalar<S>;
  const Operands<S>& operands;
  const EdgeTerms<T>& terms;
  ByHead<T> by_head{operands.g.heads};
  std::vector<T> signed_kept = operands.room(), sloped = signed_kept;

  /// From n coefficients.
  void make(int64_t n, const T* alpha, const T* kept, const T* positive) {
    if (!terms) return;
    T *a = signed_kept.data(), *b = sloped.data();
    const T slope = operands.slope;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const bool above = positive[i] > T{0};
      a[i] = above ? kept[i] : -kept[i];
      b[i] = above ? alpha[i] : slope * alpha[i];
    }
  }
  void multiply(int64_t offset, int64_t count, const T* delta) {
    if (terms) by_head.combine(sloped.data() + offset * operands.g.heads, count, delta, std::multiplies());
  }
  void put(const EdgeRows& rows, int64_t begin, int64_t end) const {
    if (terms) terms.put(rows, begin, end - begin, signed_kept.data(), sloped.data());
  }
};

/// dl. State: P, then Σ_j+ α.
template <class S>
struct Targets {
  using T = Scalar<S>;
  const Operands<S>& operands;
  Sums<S> sums;
  const EdgeTerms<T>& terms;
  T* dl;  ///< or null

  int64_t numbers() const { return operands.g.pitch + operands.g.heads; }

  struct Local {
    const Targets& body;
    ByHead<T> by_head{body.operands.g.heads};
    Coefficients<S> coefficients{body.operands, body.sums.rows};
    TermsOfSpan<S> terms{body.operands, body.terms};
    RowDelta<S, Operands<S>> delta{body.operands};
    std::vector<T> positive = body.operands.room(), row_state = room_for<S>(body.numbers()),
                   dots = room_for<S>(body.operands.g.heads);

    T* state() { return row_state.data(); }

    void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
      const HeadRows<S>& g = body.operands.g;
      T *alpha = coefficients.alpha(0), *kept = coefficients.kept(0), *sign = positive.data();
      body.sums.make(begin, segments, body.operands.lse, alpha, sign);
      coefficients.make(begin, end);
      const int64_t n = (end - begin) * g.heads;
      terms.make(n, alpha, kept, sign);
      if (kept != alpha)
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) kept[i] *= sign[i];
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) alpha[i] *= sign[i];
      for (const Segment& segment : segments) {
        const int64_t offset = segment.begin - begin;
        terms.multiply(offset, segment.count(), delta(segment.row));
        if (body.dl == nullptr) continue;
        T* share = row_state.data() + g.pitch;
        if (segment.first) std::fill_n(share, g.heads, T{0});
        by_head.add(coefficients.alpha(offset), segment.count(), share);
        g.accumulate(segment.count(), coefficients.kept(offset),
                     body.sums.rows.gathered(body.operands.x, g.pitch, segment.begin, true), segment.first,
                     row_state.data());
        if (segment.last) finish(segment.row);
      }
      terms.put(body.sums.rows, begin, end);
    }
    void finish(int64_t row) {
      if (body.dl == nullptr) return;
      const HeadRows<S>& g = body.operands.g;
      const T *share = row_state.data() + g.pitch, *of_row = delta(row);
      T* dl = body.dl + row * g.heads;
      g.dot(row_state.data(), body.operands.d_o + row * g.pitch, nullptr, dots.data());
      const T factor = T{1} - body.operands.slope;
      for (int64_t h = 0; h < g.heads; ++h)
        dl[h] = factor * (dots[static_cast<size_t>(h)] - of_row[h] * share[h]);
    }
  };
};

/// dc, and with it dl. State: dl.
template <class S>
struct TargetsOfEdges {
  using T = Scalar<S>;
  const Operands<S>& operands;
  Sums<S> sums;
  const EdgeTerms<T>& terms;
  T* dl;  ///< or null
  T* dc;

  int64_t numbers() const { return operands.g.heads; }

  struct Local {
    const TargetsOfEdges& body;
    Coefficients<S> coefficients{body.operands, body.sums.rows};
    TermsOfSpan<S> terms{body.operands, body.terms};
    RowDelta<S, Operands<S>> delta{body.operands};
    std::vector<T> positive = body.operands.room(), dots = positive, row_state = room_for<S>(body.numbers());

    T* state() { return row_state.data(); }

    void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
      const HeadRows<S>& g = body.operands.g;
      const EdgeRows& rows = body.sums.rows;
      body.sums.make(begin, segments, body.operands.lse, coefficients.alpha(0), positive.data());
      coefficients.make(begin, end);
      terms.make((end - begin) * g.heads, coefficients.alpha(0), coefficients.kept(0), positive.data());
      for (const Segment& segment : segments) {
        const int64_t offset = segment.begin - begin;
        terms.multiply(offset, segment.count(), delta(segment.row));
        g.dots(segment.count(), rows.gathered(body.operands.x, g.pitch, segment.begin, true),
               DotWith<S>{body.operands.d_o + segment.row * g.pitch}, dots.data());
        if (segment.first) std::fill_n(row_state.data(), g.heads, T{0});
        coefficients.gradients(offset, segment.count(), delta(segment.row), dots.data());
        const T* sign = positive.data() + offset * g.heads;
        for (int64_t k = 0; k < segment.count(); ++k) {
          T* gradient = body.dc + rows.edge(segment.begin + k) * g.heads;
          for (int64_t h = 0; h < g.heads; ++h) {
            const auto i = static_cast<size_t>(k * g.heads + h);
            gradient[h] = sign[i] > T{0} ? dots[i] : body.operands.slope * dots[i];
            row_state[static_cast<size_t>(h)] += gradient[h];
          }
        }
        if (segment.last) finish(segment.row);
      }
      terms.put(rows, begin, end);
    }
    void finish(int64_t row) {
      if (body.dl != nullptr)
        std::copy_n(row_state.data(), body.operands.g.heads, body.dl + row * body.operands.g.heads);
    }
  };
};

/// dr and dx. State: Σ m α dO, R and Σ s α Δ; the first or the other two may be absent.
template <class S>
struct Sources {
  using T = Scalar<S>;
  const Operands<S>& operands;
  EdgeRows rows;
  const EdgeTerms<T>& terms;
  const T* dl;
  T* dr;  ///< or null
  S* dx;  ///< or null
  const S* source;
  const S* target;

  int64_t numbers() const { return 2 * operands.g.pitch + operands.g.heads; }

  struct Local {
    const Sources& body;
    ByHead<T> by_head{body.operands.g.heads};
    std::vector<T> kept_of = body.operands.room(), sloped_of = kept_of, deltas = kept_of,
                   row_state = room_for<S>(body.numbers()),
                   source_gradient = room_for<S>(body.operands.g.heads), target_gradient = source_gradient;

    T* state() { return row_state.data(); }

    void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
      const HeadRows<S>& g = body.operands.g;
      T *kept = kept_of.data(), *by_slope = sloped_of.data();
      body.terms.take(body.rows, begin, end - begin, kept, deltas.data());
      const T slope = body.operands.slope;
#pragma omp simd
      for (int64_t i = 0; i < (end - begin) * g.heads; ++i) {
        const T value = std::abs(kept[i]);
        by_slope[i] = std::copysign(T{1}, kept[i]) > T{0} ? value : slope * value;
        kept[i] = value;
      }
      T *weighted = row_state.data(), *sloped = weighted + g.pitch, *share = sloped + g.pitch;
      for (const Segment& segment : segments) {
        const int64_t offset = (segment.begin - begin) * g.heads;
        const auto targets = body.rows.gathered(body.operands.d_o, g.pitch, segment.begin, true);
        if (body.dr != nullptr) {
          if (segment.first) std::fill_n(share, g.heads, T{0});
          by_head.add(deltas.data() + offset, segment.count(), share);
        }
        if (body.dx != nullptr && body.dr != nullptr) {
          g.accumulate_two(segment.count(), kept + offset, by_slope + offset, targets, segment.first,
                           weighted, sloped);
        } else if (body.dx != nullptr) {
          g.accumulate(segment.count(), kept + offset, targets, segment.first, weighted);
        } else {
          g.accumulate(segment.count(), by_slope + offset, targets, segment.first, sloped);
        }
        if (segment.last) finish(segment.row);
      }
    }
    void finish(int64_t row) {
      const HeadRows<S>& g = body.operands.g;
      const T *weighted = row_state.data(), *sloped = weighted + g.pitch, *share = sloped + g.pitch;
      if (body.dr != nullptr) {
        T* dr = body.dr + row * g.heads;
        g.dot(sloped, body.operands.x + row * g.pitch, nullptr, source_gradient.data());
        for (int64_t h = 0; h < g.heads; ++h) dr[h] = source_gradient[static_cast<size_t>(h)] -= share[h];
      }
      if (body.dx == nullptr) return;
      S* dx = body.dx + row * g.pitch;
      if (body.source == nullptr)
        return map_row(
            g, dx, [&](int64_t column, int n, int64_t) { return simd::load_first(weighted + column, n); });
      std::copy_n(body.dl + row * g.heads, g.heads, target_gradient.data());
      map_row(g, dx, [&](int64_t column, int n, int64_t v) {
        return simd::load_first(weighted + column, n) +
               g.expanded(source_gradient.data(), v) * simd::load_first(body.source + column, n) +
               g.expanded(target_gradient.data(), v) * simd::load_first(body.target + column, n);
      });
    }
  };
};

}  // namespace

void gat(const GatArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const HeadRows<S> g(args.heads(), args.head_width());
    const Sums<S> sums(EdgeRows(args.a), args.l, args.r, args.c, args.slope);
    const auto logits = [&](int64_t begin, std::span<const Segment> segments, Scalar<S>* e) {
      sums.make(begin, segments, e);
    };
    Attend<S>(args, g, logits, args.x.data<S>(), true).run(g.span());
  });
}

void gat_backward(const GatBackwardArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Scalar<S>;
    const Operands<S> operands(args);
    const Sums<S> sums(EdgeRows(args.a), args.l, args.r, args.c, args.slope);
    const EdgeTerms<T> terms(args.a, operands.g.heads, args.dr || args.dx);
    T* dl = mutable_data_or_null<T>(args.dl);
    if (args.dc) {
      walk_spans<T>(args.a.csr, operands.g.span(),
                    TargetsOfEdges<S>{operands, sums, terms, dl, args.dc.mutable_data<T>()});
    } else if (dl != nullptr || terms) {
      walk_spans<T>(args.a.csr, operands.g.span(), Targets<S>{operands, sums, terms, dl});
    }
    if (!terms) return;
    walk_spans<T>(args.at.csr, operands.g.span(),
                  Sources<S>{operands, EdgeRows(args.at), terms, dl, mutable_data_or_null<T>(args.dr),
                             mutable_data_or_null<S>(args.dx), data_or_null<S>(args.source),
                             data_or_null<S>(args.target)});
  });
}

}  // namespace adj::kernels::cpu
