// GATv2 in one pass over the entries forward, and one per side backward. Saved: O and lse. With leaky_relu(z)
// = s z + (1 - s) max(z, 0) and max(l + r, 0) = max(r, -l) + l, and without terms constant in a row's logits,
// which change no coefficient,
//
//   e_ij ~ ⟨(1 - s) att, max(r_j, -l_i)⟩ + ⟨s att, r_j⟩:
//
// a comparison and two products per element. Backward, where Σ_j de_ij = 0 cancels the same terms,
//
//   dl_i = (1 - s) att T_i,  T_i = Σ_j de_ij [r_j > -l_i],
//   dr_j = Σ_i m_ij α_ij dO_i + att U_j,  U_j = (1 - s) Σ_i de_ij [r_j > -l_i] + s Σ_i de_ij,
//   datt = Σ_j r_j U_j + (1 - s) Σ_i l_i T_i,
//
// so that datt costs only a product per node. The target pass hands m α and de of every entry to the source
// pass. Bytes per entry: forward and targets a row of r, sources a row of l and one of dO.
//
// With edge features z_ij = l_i + r_j + attr_ij W is computed for a span of entries at a time, and the
// formulas use it unchanged (gatv2_features.cpp).

#include <adjoint/kernels/attention/cpu/gatv2.h>

namespace adj::kernels::cpu {

namespace {

/// ⟨att, leaky_relu(l + r)⟩ without the terms in l alone, for a row of l.
template <class S>
struct Logit {
  using V = Vector<S>;
  struct Held {
    V low, above, slope;
  };
  const S* l;
  const S* att;
  Scalar<S> s;

  Held hold(auto&& load) const {
    const V a = load(att);
    return {-load(l), (1 - s) * a, s * a};
  }
  V operator()(V sum, const Held& held, V r) const {
    return sum + held.above * simd::larger(held.low, r) + held.slope * r;
  }
};
/// Adds w where row + x > 0.
template <class S>
struct WherePositive {
  using V = Vector<S>;
  using Held = V;
  const S* row;

  Held hold(auto&& load) const { return -load(row); }
  V operator()(V sum, Held low, V w, V x) const { return sum + (x > low ? w : V{}); }
};

template <class S>
struct Logits {
  using T = Scalar<S>;
  const Gatv2Operands<S>& operands;
  EdgeRows rows;
  std::vector<T> broken = room_for<S>(operands.g.heads);

  void operator()(int64_t begin, std::span<const Segment> segments, T* of_span) {
    const HeadRows<S>& g = operands.g;
    for (const Segment& segment : segments) {
      T* e = of_span + (segment.begin - begin) * g.heads;
      const S* l = operands.l + segment.row * g.pitch;
      g.dots(segment.count(), rows.gathered(operands.r, g.pitch, segment.begin, true),
             Logit<S>{l, operands.att, operands.slope}, e);
      // max(-l, r) is r if l is NaN, which must still propagate.
      for (int64_t h = 0; h < g.heads; ++h) {
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t d = 0; d < g.width; ++d) sum += T{0} * widen(l[h * g.width + d]);
        broken[static_cast<size_t>(h)] = sum;
      }
      for (int64_t h = 0; h < g.heads; ++h)
        if (broken[static_cast<size_t>(h)] != T{0})
          for (int64_t k = 0; k < segment.count(); ++k) e[k * g.heads + h] += broken[static_cast<size_t>(h)];
    }
  }
};

/// dl and its share of datt. State: T.
template <class S>
struct Targets {
  using T = Scalar<S>;
  const Gatv2Operands<S>& operands;
  EdgeRows rows;
  const EdgeTerms<T>& terms;
  S* dl;        ///< or null
  bool learns;  ///< is datt needed?

  int64_t numbers() const { return operands.g.pitch; }
  int64_t parameters() const { return learns ? operands.g.pitch : 0; }

  struct Local {
    const Targets& body;
    Coefficients<S> coefficients{body.operands, body.rows};
    RowDelta<S, Gatv2Operands<S>> delta{body.operands};
    std::vector<T> dots = body.operands.room(), broken = room_for<S>(body.operands.g.heads),
                   row_state = room_for<S>(body.numbers()),
                   share = std::vector<T>(static_cast<size_t>(body.parameters()));

    T* state() { return row_state.data(); }
    T* parameters() { return share.data(); }

    void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
      const Gatv2Operands<S>& operands = body.operands;
      const HeadRows<S>& g = operands.g;
      for (const Segment& segment : segments) {
        const int64_t offset = segment.begin - begin;
        T* e = coefficients.alpha(offset);
        const auto sources = body.rows.gathered(operands.r, g.pitch, segment.begin, true);
        g.dots(segment.count(), sources,
               Logit<S>{operands.l + segment.row * g.pitch, operands.att, operands.slope}, e);
        coefficients.subtract_lse(offset, segment.count(), segment.row);
        g.dots(segment.count(), body.rows.gathered(operands.r, g.pitch, segment.begin),
               DotWith<S>{operands.d_o + segment.row * g.pitch}, dots.data() + offset * g.heads);
      }
      coefficients.make(begin, end);
      for (const Segment& segment : segments) {
        const int64_t offset = segment.begin - begin;
        T* de = dots.data() + offset * g.heads;
        coefficients.gradients(offset, segment.count(), delta(segment.row), de);
        g.accumulate(segment.count(), de, body.rows.gathered(operands.r, g.pitch, segment.begin),
                     WherePositive<S>{operands.l + segment.row * g.pitch}, segment.first, row_state.data());
        if (segment.last) finish(segment.row);
      }
      if (body.terms) body.terms.put(body.rows, begin, end - begin, coefficients.kept(0), dots.data());
    }
    void finish(int64_t row) {
      const Gatv2Operands<S>& operands = body.operands;
      const HeadRows<S>& g = operands.g;
      const T* of_row = delta(row);
      T* sums = row_state.data();
      // NaN must propagate even if no element is positive.
      for (int64_t h = 0; h < g.heads; ++h)
        broken[static_cast<size_t>(h)] = T{0} * (of_row[h] + operands.lse[row * g.heads + h]);
      map_row(g, sums, [&](int64_t column, int n, int64_t v) {
        return simd::load_first(sums + column, n) + g.expanded(broken.data(), v);
      });
      const T above = T{1} - operands.slope;
      if (body.dl != nullptr)
        map_row(g, body.dl + row * g.pitch, [&](int64_t column, int n, int64_t) {
          return above * simd::load_first(operands.att + column, n) * simd::load_first(sums + column, n);
        });
      if (!body.learns) return;
      const S* l = operands.l + row * g.pitch;
      T* datt = share.data();
#pragma omp simd
      for (int64_t f = 0; f < g.pitch; ++f) datt[f] += above * sums[f] * widen(l[f]);
    }
  };
};

/// dr and its share of datt. State: Σ m α dO, Σ de [positive], Σ de.
template <class S>
struct Sources {
  using T = Scalar<S>;
  const Gatv2Operands<S>& operands;
  EdgeRows rows;
  const EdgeTerms<T>& terms;
  S* dr;        ///< or null
  bool learns;  ///< is datt needed?

  int64_t numbers() const { return 2 * operands.g.pitch + operands.g.heads; }
  int64_t parameters() const { return learns ? operands.g.pitch : 0; }

  struct Local {
    const Sources& body;
    ByHead<T> by_head{body.operands.g.heads};
    std::vector<T> kept = body.operands.room(), of_logits = kept, row_state = room_for<S>(body.numbers()),
                   share = std::vector<T>(static_cast<size_t>(body.parameters()));

    T* state() { return row_state.data(); }
    T* parameters() { return share.data(); }

    void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
      const Gatv2Operands<S>& operands = body.operands;
      const HeadRows<S>& g = operands.g;
      body.terms.take(body.rows, begin, end - begin, kept.data(), of_logits.data());
      T *values = row_state.data(), *positive = values + g.pitch, *all = positive + g.pitch;
      for (const Segment& segment : segments) {
        const int64_t offset = (segment.begin - begin) * g.heads;
        if (segment.first) std::fill_n(all, g.heads, T{0});
        if (body.dr != nullptr)
          g.accumulate(segment.count(), kept.data() + offset,
                       body.rows.gathered(operands.d_o, g.pitch, segment.begin, true), segment.first, values);
        const T* de = of_logits.data() + offset;
        g.accumulate(segment.count(), de, body.rows.gathered(operands.l, g.pitch, segment.begin, true),
                     WherePositive<S>{operands.r + segment.row * g.pitch}, segment.first, positive);
        by_head.add(de, segment.count(), all);
        if (segment.last) finish(segment.row);
      }
    }
    void finish(int64_t row) {
      const Gatv2Operands<S>& operands = body.operands;
      const HeadRows<S>& g = operands.g;
      const T above = T{1} - operands.slope, slope = operands.slope;
      T *values = row_state.data(), *positive = values + g.pitch, *all = positive + g.pitch;
      // U, in place of the sum over positive entries.
      map_row(g, positive, [&](int64_t column, int n, int64_t v) {
        return above * simd::load_first(positive + column, n) + slope * g.expanded(all, v);
      });
      if (body.dr != nullptr)
        map_row(g, body.dr + row * g.pitch, [&](int64_t column, int n, int64_t) {
          return simd::load_first(values + column, n) +
                 simd::load_first(operands.att + column, n) * simd::load_first(positive + column, n);
        });
      if (!body.learns) return;
      const S* r = operands.r + row * g.pitch;
      T* datt = share.data();
#pragma omp simd
      for (int64_t f = 0; f < g.pitch; ++f) datt[f] += positive[f] * widen(r[f]);
    }
  };
};

}  // namespace

void gatv2(const Gatv2Args& args) {
  if (args.attr) return gatv2_with_features(args);
  dispatch_features(args.l.dtype(), [&]<class S>() {
    const Gatv2Operands<S> operands(args);
    Attend<S>(args, operands.g, Logits<S>{operands, EdgeRows(args.a)}, operands.r, false)
        .run(operands.g.span());
  });
}

void gatv2_backward(const Gatv2BackwardArgs& args) {
  if (args.attr) return gatv2_backward_with_features(args);
  dispatch_features(args.l.dtype(), [&]<class S>() {
    using T = Scalar<S>;
    const Gatv2Operands<S> operands(args);
    const bool learns = static_cast<bool>(args.datt);
    std::vector<double> of_targets(static_cast<size_t>(operands.g.pitch)), of_sources(of_targets);
    const EdgeTerms<T> terms(args.a, operands.g.heads, args.dr || learns);
    if (terms || args.dl)
      walk_spans<T>(args.a.csr, operands.g.span(),
                    Targets<S>{operands, EdgeRows(args.a), terms, mutable_data_or_null<S>(args.dl), learns},
                    of_targets.data());
    if (terms)
      walk_spans<T>(args.at.csr, operands.g.span(),
                    Sources<S>{operands, EdgeRows(args.at), terms, mutable_data_or_null<S>(args.dr), learns},
                    of_sources.data());
    if (!learns) return;
    S* datt = args.datt.mutable_data<S>();
    for (size_t f = 0; f < of_targets.size(); ++f)
      datt[f] = narrow<S>(static_cast<T>(of_targets[f] + of_sources[f]));
  });
}

}  // namespace adj::kernels::cpu
