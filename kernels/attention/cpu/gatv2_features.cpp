// GATv2 with edge features: every pass recomputes z_ij = l_i + r_j + attr_ij W for a span of entries at a
// time, E products per element; nothing of size M x D is stored. Saved: O and lse. With G_ij = de_ij
// leaky_relu'(z_ij), element-wise,
//
//   dl_i = att Σ_j G_ij,  dr_j = Σ_i m_ij α_ij dO_i + att Σ_i G_ij,  datt = Σ G_ij z_ij,
//   dW = att Σ attr_ij G_ijᵀ,  dattr_ij = W (att G_ij),
//
// all but dr summed over the rows of targets. Bytes: as in gatv2.cpp, plus E numbers per entry.

#include <adjoint/kernels/attention/cpu/gatv2.h>

namespace adj::kernels::cpu {

namespace {

/// ⟨att, leaky_relu(z)⟩.
template <class S>
struct Logit {
  using V = Vector<S>;
  struct Held {
    V above, slope;
  };
  const S* att;
  Scalar<S> s;

  Held hold(auto&& load) const {
    const V a = load(att);
    return {(1 - s) * a, s * a};
  }
  V operator()(V sum, const Held& held, V z) const {
    return sum + held.above * simd::relu(z) + held.slope * z;
  }
};

/// Computes z for the entries of rows of either side: `self` is the row's, `other` the columns' operand.
template <class S>
struct SumsOfEdges {
  using T = Scalar<S>;
  const HeadRows<S>& g;
  EdgeRows rows;
  const S* self;
  const S* other;
  EdgeFeatures<T> attr;
  const S* w;

  SumsOfEdges(const HeadRows<S>& head_rows, const CsrMatrix& a, const S* self_rows, const S* other_rows,
              const Tensor& of_edges, const Tensor& weight)
      : g(head_rows), rows(a), self(self_rows), other(other_rows), attr(of_edges), w(weight.data<S>()) {}

  /// Rows of T, one per entry of the segment.
  void make(const Segment& segment, T* z) const {
    const auto others = rows.gathered(other, g.pitch, segment.begin, true);
    for_blocks<S>(g.pitch, [&]<int B>(int64_t first, int tail) {
      Vector<S> mine[B];
      load_block<S, B>(self + segment.row * g.pitch + first, tail, mine);
      for (int64_t k = 0; k < segment.count(); ++k) {
        others.prefetch(k, first, (B - 1) * kLanes<S> + tail);
        Vector<S> sum[B], row[B];
        load_block<S, B>(others[k] + first, tail, sum);
        for (int b = 0; b < B; ++b) sum[b] += mine[b];
        const T* features = attr.row(rows.edge(segment.begin + k));
        for (int64_t e = 0; e < attr.count; ++e) {
          load_block<S, B>(w + e * g.pitch + first, tail, row);
          for (int b = 0; b < B; ++b) sum[b] += features[e] * row[b];
        }
        store_block<T, B>(z + k * g.pitch + first, tail, sum);
      }
    });
  }
};

template <class S>
struct Logits {
  const Gatv2Operands<S>& operands;
  const SumsOfEdges<S>& sums;
  std::vector<Scalar<S>> z = room_for<S>(operands.g.span_of_made_rows() * operands.g.pitch);

  void operator()(int64_t begin, std::span<const Segment> segments, Scalar<S>* e) {
    const HeadRows<S>& g = operands.g;
    for (const Segment& segment : segments) {
      sums.make(segment, z.data());
      g.dots(segment.count(), ConsecutiveRows<Scalar<S>>{z.data(), g.pitch},
             Logit<S>{operands.att, operands.slope}, e + (segment.begin - begin) * g.heads);
    }
  }
};

/// α, de and G of a span's entries; G overwrites z.
template <class S>
struct EdgeGradients {
  using T = Scalar<S>;
  const Gatv2Operands<S>& operands;
  const SumsOfEdges<S>& sums;
  Coefficients<S> coefficients{operands, sums.rows};
  std::vector<T> dots_of_span = room_for<S>(operands.g.span_of_made_rows() * operands.g.heads),
                 z_of_span = room_for<S>(operands.g.span_of_made_rows() * operands.g.pitch);

  T* dots(int64_t offset) { return dots_of_span.data() + offset * operands.g.heads; }
  T* z(int64_t offset) { return z_of_span.data() + offset * operands.g.pitch; }

  /// Logits, into coefficients.alpha(offset).
  void logits(const Segment& segment, int64_t offset) {
    sums.make(segment, z(offset));
    operands.g.dots(segment.count(), ConsecutiveRows<T>{z(offset), operands.g.pitch},
                    Logit<S>{operands.att, operands.slope}, coefficients.alpha(offset));
  }
  /// G of entries whose de are dots(offset); adds their sum over the segment to `sum`, and ΣG z to `datt` if
  /// it is not null.
  void make(const Segment& segment, int64_t offset, T* sum, T* datt) {
    const HeadRows<S>& g = operands.g;
    const T slope = operands.slope;
    for (int64_t k = 0; k < segment.count(); ++k) {
      const T* de = dots(offset + k);
      T* row = z(offset + k);
      g.each_vector([&](int64_t f, int n, int64_t v) {
        const Vector<S> z_v = simd::load_first(row + f, n), w = g.expanded(de, v);
        const Vector<S> gradient = z_v > Vector<S>{} ? w : slope * w;
        simd::store_first(row + f, gradient, n);
        simd::store_first(sum + f, simd::load_first(sum + f, n) + gradient, n);
        if (datt != nullptr) simd::store_first(datt + f, simd::load_first(datt + f, n) + gradient * z_v, n);
      });
    }
  }
};

/// dl, datt, dW and dattr. State: ΣG. Parameters: datt, then dW without the factor att.
template <class S>
struct Targets {
  using T = Scalar<S>;
  const Gatv2Operands<S>& operands;
  const SumsOfEdges<S>& sums;
  const T* weighted;  ///< W att, element-wise
  T* delta;
  S* dl;     ///< or null
  T* dattr;  ///< or null
  bool learns;

  int64_t numbers() const { return operands.g.pitch; }
  int64_t parameters() const { return learns ? (1 + sums.attr.count) * operands.g.pitch : 0; }

  struct Local {
    const Targets& body;
    EdgeGradients<S> edges{body.operands, body.sums};
    std::vector<T> row_delta = room_for<S>(body.operands.g.heads), row_state = room_for<S>(body.numbers()),
                   share = std::vector<T>(static_cast<size_t>(body.parameters()));
    std::vector<T> of_span = share;  // partial sums of the parameters over a span

    T* state() { return row_state.data(); }
    T* parameters() { return share.data(); }

    void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
      const Gatv2Operands<S>& operands = body.operands;
      const HeadRows<S>& g = operands.g;
      Coefficients<S>& coefficients = edges.coefficients;
      for (const Segment& segment : segments) {
        const int64_t offset = segment.begin - begin;
        edges.logits(segment, offset);
        coefficients.subtract_lse(offset, segment.count(), segment.row);
        g.dots(segment.count(), body.sums.rows.gathered(operands.r, g.pitch, segment.begin),
               DotWith<S>{operands.d_o + segment.row * g.pitch}, edges.dots(offset));
      }
      coefficients.make(begin, end);
      for (const Segment& segment : segments) {
        const int64_t offset = segment.begin - begin;
        operands.delta(segment.row, row_delta.data());
        coefficients.gradients(offset, segment.count(), row_delta.data(), edges.dots(offset));
        if (segment.first) std::fill_n(row_state.data(), g.pitch, T{0});
        edges.make(segment, offset, row_state.data(), body.learns ? of_span.data() : nullptr);
        of_features(segment, offset);
        if (segment.last) finish(segment.row);
      }
#pragma omp simd
      for (size_t p = 0; p < share.size(); ++p) share[p] += of_span[p];
      std::fill(of_span.begin(), of_span.end(), T{0});
    }
    void finish(int64_t row) {
      const Gatv2Operands<S>& operands = body.operands;
      operands.delta(row, body.delta + row * operands.g.heads);
      if (body.dl == nullptr) return;
      const T* sums = row_state.data();
      map_row(operands.g, body.dl + row * operands.g.pitch, [&](int64_t column, int n, int64_t) {
        return simd::load_first(operands.att + column, n) * simd::load_first(sums + column, n);
      });
    }

   private:
    void of_features(const Segment& segment, int64_t offset) {
      const int64_t pitch = body.operands.g.pitch, features = body.sums.attr.count;
      for (int64_t k = 0; k < segment.count(); ++k) {
        const int64_t edge = body.sums.rows.edge(segment.begin + k);
        const T *gradient = edges.z(offset + k), *attr = body.sums.attr.row(edge);
        for (int64_t e = 0; e < features; ++e) {
          if (body.learns) {
            T* dw = of_span.data() + (1 + e) * pitch;
            const T weight = attr[e];
#pragma omp simd
            for (int64_t f = 0; f < pitch; ++f) dw[f] += weight * gradient[f];
          }
          if (body.dattr == nullptr) continue;
          const T* w = body.weighted + e * pitch;
          T sum = 0;
#pragma omp simd reduction(+ : sum)
          for (int64_t f = 0; f < pitch; ++f) sum += w[f] * gradient[f];
          body.dattr[edge * features + e] = sum;
        }
      }
    }
  };
};

/// dr. State: Σ m α dO, ΣG.
template <class S>
struct Sources {
  using T = Scalar<S>;
  const Gatv2Operands<S>& operands;
  const SumsOfEdges<S>& sums;
  const T* delta;
  S* dr;

  int64_t numbers() const { return 2 * operands.g.pitch; }

  struct Local {
    const Sources& body;
    EdgeGradients<S> edges{body.operands, body.sums};
    std::vector<T> row_state = room_for<S>(body.numbers());

    T* state() { return row_state.data(); }

    void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
      const Gatv2Operands<S>& operands = body.operands;
      const HeadRows<S>& g = operands.g;
      const EdgeRows& rows = body.sums.rows;
      Coefficients<S>& coefficients = edges.coefficients;
      for (const Segment& segment : segments) {
        const int64_t offset = segment.begin - begin;
        edges.logits(segment, offset);
        coefficients.subtract_lse(offset, segment.count(), rows.columns + segment.begin);
        g.dots(segment.count(), rows.gathered(operands.d_o, g.pitch, segment.begin, true),
               DotWith<S>{operands.r + segment.row * g.pitch}, edges.dots(offset));
      }
      coefficients.make(begin, end);
      T *values = row_state.data(), *gradients = values + g.pitch;
      for (const Segment& segment : segments) {
        const int64_t offset = segment.begin - begin;
        g.accumulate(segment.count(), coefficients.kept(offset),
                     rows.gathered(operands.d_o, g.pitch, segment.begin), segment.first, values);
        coefficients.gradients(offset, segment.count(), body.delta, rows.columns + segment.begin,
                               edges.dots(offset));
        if (segment.first) std::fill_n(gradients, g.pitch, T{0});
        edges.make(segment, offset, gradients, nullptr);
        if (segment.last) finish(segment.row);
      }
    }
    void finish(int64_t row) {
      const Gatv2Operands<S>& operands = body.operands;
      const T *values = row_state.data(), *gradients = values + operands.g.pitch;
      map_row(operands.g, body.dr + row * operands.g.pitch, [&](int64_t column, int n, int64_t) {
        return simd::load_first(values + column, n) +
               simd::load_first(operands.att + column, n) * simd::load_first(gradients + column, n);
      });
    }
  };
};

template <class S>
void backward(const Gatv2BackwardArgs& args) {
  using T = Scalar<S>;
  const Gatv2Operands<S> operands(args);
  const int64_t pitch = operands.g.pitch;
  T* delta = args.delta.template mutable_data<T>();
  const SumsOfEdges<S> by_target(operands.g, args.a, operands.l, operands.r, args.attr, args.w);
  const int64_t features = by_target.attr.count;
  const bool learns = args.datt || args.dw;
  if (learns || args.dl || args.dattr) {
    std::vector<T> weighted(static_cast<size_t>(features * pitch));
    for (int64_t e = 0; e < features; ++e)
      for (int64_t f = 0; f < pitch; ++f)
        weighted[static_cast<size_t>(e * pitch + f)] =
            widen(by_target.w[e * pitch + f]) * widen(operands.att[f]);
    const Targets<S> body{operands,
                          by_target,
                          weighted.data(),
                          delta,
                          mutable_data_or_null<S>(args.dl),
                          mutable_data_or_null<T>(args.dattr),
                          learns};
    std::vector<double> sums(static_cast<size_t>(body.parameters()));
    walk_spans<T>(args.a.csr, operands.g.span_of_made_rows(), body, sums.data());
    if (args.datt) {
      S* datt = args.datt.template mutable_data<S>();
      for (int64_t f = 0; f < pitch; ++f) datt[f] = narrow<S>(static_cast<T>(sums[static_cast<size_t>(f)]));
    }
    if (args.dw) {
      S* dw = args.dw.template mutable_data<S>();
      for (int64_t i = 0; i < features * pitch; ++i)
        dw[i] = narrow<S>(static_cast<T>(sums[static_cast<size_t>(pitch + i)] *
                                         static_cast<double>(widen(operands.att[i % pitch]))));
    }
  } else {
    operands.all_deltas(args.a.csr.rows, delta);
  }
  if (!args.dr) return;
  const SumsOfEdges<S> by_source(operands.g, args.at, operands.r, operands.l, args.attr, args.w);
  walk_spans<T>(args.at.csr, operands.g.span_of_made_rows(),
                Sources<S>{operands, by_source, delta, args.dr.template mutable_data<S>()});
}

}  // namespace

void gatv2_with_features(const Gatv2Args& args) {
  dispatch_features(args.l.dtype(), [&]<class S>() {
    const Gatv2Operands<S> operands(args);
    const SumsOfEdges<S> sums(operands.g, args.a, operands.l, operands.r, args.attr, args.w);
    Attend<S>(args, operands.g, Logits<S>{operands, sums}, operands.r, false)
        .run(operands.g.span_of_made_rows());
  });
}

void gatv2_backward_with_features(const Gatv2BackwardArgs& args) {
  dispatch_features(args.l.dtype(), [&]<class S>() { backward<S>(args); });
}

}  // namespace adj::kernels::cpu
