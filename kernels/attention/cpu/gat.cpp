// GAT in one pass over the entries forward, and one over each side backward. Saved: O and lse; logits are
// made again of the nodes' terms, H numbers an entry. No dot product of an entry is taken where edges want no
// gradient: with s_ij the slope of leaky_relu at an entry, 1 where its sum is positive and `slope` elsewhere,
//
//   dl_i = Σ_j s_ij de_ij = (1 - slope) (⟨dO_i, P_i⟩ - Δ_i Σ_j+ α_ij),   P_i = Σ_j+ m_ij α_ij x_j,
//   dr_j = Σ_i s_ij de_ij = ⟨x_j, R_j⟩ - Σ_i s_ij α_ij Δ_i,              R_j = Σ_i s_ij m_ij α_ij dO_i,
//
// j+ being the entries of positive sums (dl by Σ_j de_ij = 0). Bytes of a pass: a row of features and some H
// numbers for every entry, the targets' or sources' own once.

#include <adjoint/kernels/attention/cpu/attend.h>
#include <adjoint/kernels/attention/gat.h>

namespace adj::kernels::cpu {

namespace {

/// l_i + r_j + c_ij for the entries of a row of either side: `own` belongs to the row, `other` to the
/// columns.
template <class S>
struct Sums {
  using T = Scalar<S>;
  EdgeRows rows;
  const T* own;
  const T* other;
  const T* c;
  int64_t heads;
  T slope;

  Sums(const EdgeRows& of, const Tensor& own_terms, const Tensor& other_terms, const Tensor& of_edges,
       float leaky)
      : rows(of),
        own(own_terms.data<T>()),
        other(other_terms.data<T>()),
        c(of_edges ? of_edges.data<T>() : nullptr),
        heads(own_terms.size(1)),
        slope(static_cast<T>(leaky)) {}

  /// z [k H + h]; segment after segment.
  void make(const ByHead<T>& by_head, const Segment& segment, T* z) const {
    gather_terms(heads, other, rows.columns + segment.begin, rows.last(), segment.count(), z);
    by_head.add_row(z, segment.count(), own + segment.row * heads);
    if (c == nullptr) return;
    for (int64_t k = 0; k < segment.count(); ++k) {
      const T* of_edge = c + rows.edge(segment.begin + k) * heads;
#pragma omp simd
      for (int64_t h = 0; h < heads; ++h) z[k * heads + h] += of_edge[h];
    }
  }
  /// z = leaky_relu(z), and slopes[i] = 1 where z > 0, `below` elsewhere.
  void activate(int64_t n, T* z, T* slopes, T below) const {
    const T s = slope;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const bool positive = z[i] > T{0};
      slopes[i] = positive ? T{1} : below;
      z[i] = positive ? z[i] : s * z[i];
    }
  }
};

template <class S>
struct Logits {
  const Sums<S>& sums;

  struct Local {
    using T = Scalar<S>;
    const Sums<S>& sums;
    ByHead<T> by_head;

    explicit Local(const Logits& of) : sums(of.sums), by_head(of.sums.heads) {}
    void operator()(const Segment& segment, T* e) const {
      sums.make(by_head, segment, e);
      const T slope = sums.slope;
#pragma omp simd
      for (int64_t i = 0; i < segment.count() * sums.heads; ++i) e[i] = e[i] > T{0} ? e[i] : slope * e[i];
    }
  };
};

/// What both sides of the backward pass read.
template <class S>
struct Operands : Outputs<S> {
  const S* x;
  Scalar<S> slope;

  explicit Operands(const GatBackwardArgs& args)
      : Outputs<S>(args, args.heads()), x(args.x.data<S>()), slope(static_cast<Scalar<S>>(args.slope)) {}
};

/// dl, and Δ. State: P, then Σ_j+ α.
template <class S>
struct Targets {
  using T = Scalar<S>;
  const Operands<S>& of;
  Sums<S> sums;
  T* delta;
  T* dl;

  int64_t numbers() const { return of.g.pitch + of.g.heads; }

  struct Local {
    const Targets& body;
    ByHead<T> by_head;
    Coefficients<S> coefficients;
    std::vector<T> positive, row_state, dots;

    explicit Local(const Targets& b)
        : body(b),
          by_head(b.of.g.heads),
          coefficients(b.of, b.sums.rows),
          positive(room_for<S>(b.of.g.span() * b.of.g.heads)),
          row_state(room_for<S>(b.numbers())),
          dots(room_for<S>(b.of.g.heads)) {}
    T* state() { return row_state.data(); }

    void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
      const HeadRows<S>& g = body.of.g;
      for (const Segment& segment : segments) {
        const int64_t at = segment.begin - begin;
        T* e = coefficients.alpha(at);
        body.sums.make(by_head, segment, e);
        body.sums.activate(segment.count() * g.heads, e, positive.data() + at * g.heads, T{0});
        coefficients.subtract_lse(at, segment.count(), segment.row);
      }
      coefficients.make(begin, end);
      const int64_t n = (end - begin) * g.heads;
      T *alpha = coefficients.alpha(0), *kept = coefficients.kept(0), *sign = positive.data();
      if (kept != alpha)
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) kept[i] *= sign[i];
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) alpha[i] *= sign[i];
      for (const Segment& segment : segments) {
        const int64_t at = segment.begin - begin;
        T* share = row_state.data() + g.pitch;
        if (segment.first) std::fill_n(share, g.heads, T{0});
        by_head.add(coefficients.alpha(at), segment.count(), share);
        g.accumulate(segment.count(), coefficients.kept(at),
                     body.sums.rows.gathered(body.of.x, g.pitch, segment.begin, true), Weighted<S>{},
                     segment.first, row_state.data());
        if (segment.last) finish(segment.row);
      }
    }
    void merge(const T* parts, int64_t count) { add_states(parts, count, body.numbers(), row_state.data()); }
    void finish(int64_t row) {
      const HeadRows<S>& g = body.of.g;
      const T* share = row_state.data() + g.pitch;
      T *delta = body.delta + row * g.heads, *dl = body.dl + row * g.heads;
      body.of.delta(row, dots.data());
      std::copy_n(dots.data(), g.heads, delta);
      g.dots(1, ConsecutiveRows<T>{row_state.data(), g.pitch}, DotWith<S>{body.of.d_o + row * g.pitch},
             dots.data());
      const T factor = T{1} - body.of.slope;
      for (int64_t h = 0; h < g.heads; ++h)
        dl[h] = factor * (dots[static_cast<size_t>(h)] - delta[h] * share[h]);
    }
  };
};

/// dc, and so dl and Δ. State: dl.
template <class S>
struct TargetsOfEdges {
  using T = Scalar<S>;
  const Operands<S>& of;
  Sums<S> sums;
  T* delta;
  T* dl;  ///< or null
  T* dc;

  int64_t numbers() const { return of.g.heads; }

  struct Local {
    const TargetsOfEdges& body;
    ByHead<T> by_head;
    Coefficients<S> coefficients;
    std::vector<T> slopes, dots, row_state, row_delta;

    explicit Local(const TargetsOfEdges& b)
        : body(b),
          by_head(b.of.g.heads),
          coefficients(b.of, b.sums.rows),
          slopes(room_for<S>(b.of.g.span() * b.of.g.heads)),
          dots(slopes),
          row_state(room_for<S>(b.numbers())),
          row_delta(row_state) {}
    T* state() { return row_state.data(); }

    void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
      const HeadRows<S>& g = body.of.g;
      const Sums<S>& sums = body.sums;
      for (const Segment& segment : segments) {
        const int64_t at = segment.begin - begin;
        T* e = coefficients.alpha(at);
        sums.make(by_head, segment, e);
        sums.activate(segment.count() * g.heads, e, slopes.data() + at * g.heads, sums.slope);
        coefficients.subtract_lse(at, segment.count(), segment.row);
      }
      coefficients.make(begin, end);
      for (const Segment& segment : segments) {
        const int64_t at = segment.begin - begin;
        g.dots(segment.count(), sums.rows.gathered(body.of.x, g.pitch, segment.begin, true),
               DotWith<S>{body.of.d_o + segment.row * g.pitch}, dots.data());
        body.of.delta(segment.row, row_delta.data());
        if (segment.first) std::fill_n(row_state.data(), g.heads, T{0});
        coefficients.gradients(at, segment.count(), row_delta.data(), dots.data());
        const T* slope = slopes.data() + at * g.heads;
        for (int64_t k = 0; k < segment.count(); ++k) {
          T* to = body.dc + sums.rows.edge(segment.begin + k) * g.heads;
          for (int64_t h = 0; h < g.heads; ++h) {
            const auto i = static_cast<size_t>(k * g.heads + h);
            to[h] = slope[i] * dots[i];
            row_state[static_cast<size_t>(h)] += to[h];
          }
        }
        if (segment.last) finish(segment.row);
      }
    }
    void merge(const T* parts, int64_t count) { add_states(parts, count, body.numbers(), row_state.data()); }
    void finish(int64_t row) {
      const int64_t heads = body.of.g.heads;
      body.of.delta(row, row_delta.data());
      std::copy_n(row_delta.data(), heads, body.delta + row * heads);
      if (body.dl != nullptr) std::copy_n(row_state.data(), heads, body.dl + row * heads);
    }
  };
};

/// dr and dx. State: Σ m α dO, R and Σ s α Δ, of which the first or the others may be absent.
template <class S>
struct Sources {
  using T = Scalar<S>;
  const Operands<S>& of;
  Sums<S> sums;
  const T* delta;
  const T* dl;
  T* dr;  ///< or null
  S* dx;  ///< or null
  const S* source;
  const S* target;

  int64_t numbers() const { return 2 * of.g.pitch + of.g.heads; }

  struct Local {
    const Sources& body;
    ByHead<T> by_head;
    Coefficients<S> coefficients;
    std::vector<T> slopes, deltas, row_state, own, own2;

    explicit Local(const Sources& b)
        : body(b),
          by_head(b.of.g.heads),
          coefficients(b.of, b.sums.rows),
          slopes(room_for<S>(b.of.g.span() * b.of.g.heads)),
          deltas(slopes),
          row_state(room_for<S>(b.numbers())),
          own(room_for<S>(b.of.g.heads)),
          own2(own) {}
    T* state() { return row_state.data(); }

    void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
      const HeadRows<S>& g = body.of.g;
      const Sums<S>& sums = body.sums;
      for (const Segment& segment : segments) {
        const int64_t at = segment.begin - begin;
        T* e = coefficients.alpha(at);
        sums.make(by_head, segment, e);
        sums.activate(segment.count() * g.heads, e, slopes.data() + at * g.heads, sums.slope);
        coefficients.subtract_lse(at, segment.count(), sums.rows.columns + segment.begin);
      }
      if (body.dr != nullptr)
        gather_terms(g.heads, body.delta, sums.rows.columns + begin, sums.rows.last(), end - begin,
                     deltas.data());
      coefficients.make(begin, end);
      const int64_t n = (end - begin) * g.heads;
      const T *alpha = coefficients.alpha(0), *kept = coefficients.kept(0);
      if (body.dr != nullptr) {
        T *by = slopes.data(), *of_target = deltas.data();
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
          of_target[i] *= by[i] * alpha[i];
          by[i] *= kept[i];
        }
      }
      T *weighted = row_state.data(), *sloped = weighted + g.pitch, *share = sloped + g.pitch;
      for (const Segment& segment : segments) {
        const int64_t at = (segment.begin - begin) * g.heads;
        const auto targets = sums.rows.gathered(body.of.d_o, g.pitch, segment.begin, true);
        if (body.dr != nullptr) {
          if (segment.first) std::fill_n(share, g.heads, T{0});
          by_head.add(deltas.data() + at, segment.count(), share);
        }
        if (body.dx != nullptr && body.dr != nullptr) {
          g.accumulate_two(segment.count(), kept + at, slopes.data() + at, targets, segment.first, weighted,
                           sloped);
        } else if (body.dx != nullptr) {
          g.accumulate(segment.count(), kept + at, targets, Weighted<S>{}, segment.first, weighted);
        } else {
          g.accumulate(segment.count(), slopes.data() + at, targets, Weighted<S>{}, segment.first, sloped);
        }
        if (segment.last) finish(segment.row);
      }
    }
    void merge(const T* parts, int64_t count) { add_states(parts, count, body.numbers(), row_state.data()); }
    void finish(int64_t row) {
      const HeadRows<S>& g = body.of.g;
      const T *weighted = row_state.data(), *sloped = weighted + g.pitch, *share = sloped + g.pitch;
      if (body.dr != nullptr) {
        T* dr = body.dr + row * g.heads;
        g.dots(1, ConsecutiveRows<T>{sloped, g.pitch}, DotWith<S>{body.of.x + row * g.pitch}, own.data());
        for (int64_t h = 0; h < g.heads; ++h) dr[h] = own[static_cast<size_t>(h)] -= share[h];
      }
      if (body.dx == nullptr) return;
      S* dx = body.dx + row * g.pitch;
      if (body.source == nullptr)
        return map_row(g, dx, [&](int64_t at, int n, int64_t) { return simd::load_first(weighted + at, n); });
      std::copy_n(body.dl + row * g.heads, g.heads, own2.data());
      map_row(g, dx, [&](int64_t at, int n, int64_t v) {
        return simd::load_first(weighted + at, n) +
               g.expanded(own.data(), v) * simd::load_first(body.source + at, n) +
               g.expanded(own2.data(), v) * simd::load_first(body.target + at, n);
      });
    }
  };
};

}  // namespace

void gat(const GatArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Scalar<S>;
    const HeadRows<S> g(args.heads(), args.head_width());
    const EdgeRows rows(args.a);
    const Sums<S> sums(rows, args.l, args.r, args.c, args.slope);
    const Logits<S> logits{sums};
    const Attend<S, Logits<S>> body{g,
                                    rows,
                                    logits,
                                    args.x.data<S>(),
                                    nullptr,
                                    true,
                                    args.dropout,
                                    {},
                                    args.o.mutable_data<S>(),
                                    nullptr,
                                    args.lse.mutable_data<T>()};
    walk_spans<T>(args.a.csr, g.span(), body);
  });
}

void gat_backward(const GatBackwardArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Scalar<S>;
    const Operands<S> of(args);
    const auto wide = [](Tensor& of_nodes) { return of_nodes ? of_nodes.mutable_data<T>() : nullptr; };
    T* delta = args.delta.mutable_data<T>();
    const Sums<S> by_target(EdgeRows(args.a), args.l, args.r, args.c, args.slope);
    T* dl = wide(args.dl);
    if (args.dc) {
      walk_spans<T>(args.a.csr, of.g.span(),
                    TargetsOfEdges<S>{of, by_target, delta, dl, args.dc.mutable_data<T>()});
    } else if (dl != nullptr) {
      walk_spans<T>(args.a.csr, of.g.span(), Targets<S>{of, by_target, delta, dl});
    } else {
      of.all_deltas(args.a.csr.rows, delta);
    }
    if (!args.dr && !args.dx) return;
    walk_spans<T>(args.at.csr, of.g.span(),
                  Sources<S>{of, Sums<S>(EdgeRows(args.at), args.r, args.l, args.c, args.slope), delta, dl,
                             wide(args.dr), args.dx ? args.dx.mutable_data<S>() : nullptr,
                             args.source ? args.source.data<S>() : nullptr,
                             args.target ? args.target.data<S>() : nullptr});
  });
}

}  // namespace adj::kernels::cpu
