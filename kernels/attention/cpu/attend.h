#pragma once

#include <adjoint/kernels/attention/cpu/passes.h>

#include <limits>

// Forward pass shared by the attentions, parameterized by their logits: the logits of a span of entries, less
// their row's maximum, become exponentials in one loop, then each row accumulates its weighted values. A row
// longer than a span continues with its accumulators, rescaled when a larger logit appears (online softmax:
// Milakov & Gimelshein 2018); the pieces of a heavy row are merged the same way.
namespace adj::kernels::cpu {

/// Logits: a functor, copied for each thread, `logits(begin, segments, e)`, which writes those of a span, e
/// [k H + h] from its first entry.
template <class S, class Logits>
struct Attend {
  using T = Scalar<S>;
  const HeadRows<S>& g;
  EdgeRows rows;
  Logits logits;
  const S* values;
  const T* factors;      ///< [cols,H] of the values, or null
  bool first_to_gather;  ///< do the logits not read the values' rows?
  const AttentionDropout& dropout;
  EdgeFeatures<T> attr;
  const S* bias;  ///< [H D], added to o, or null
  S* o;
  S* o_attr;
  T* lse;
  T* state;  ///< of a row: maximum logits, sums of exponentials, sums of values and of edge features
  ByHead<T> by_head{g.heads};
  AttentionMask<T> mask{dropout, rows.order, g.heads};
  std::vector<T> exponents = room_for<S>(g.span() * g.heads), kept_of = {}, weights_of = {};
  std::vector<T> largest_of = room_for<S>(static_cast<int64_t>(detail::kMostSegments) * g.heads);
  std::vector<T> inverse = room_for<S>(g.heads);

  static int64_t numbers(const HeadRows<S>& rows, int64_t features) {
    return 2 * rows.heads + rows.pitch + rows.heads * features;
  }

  void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
    const int64_t heads = g.heads;
    T* e = exponents.data();
    logits(begin, segments, e);
    for (size_t s = 0; s < segments.size(); ++s) {
      const Segment& segment = segments[s];
      T* largest = largest_of.data() + static_cast<int64_t>(s) * heads;
      T* of_row = e + (segment.begin - begin) * heads;
      if (segment.first) {
        // The lowest finite number instead of -inf, so that differences to -inf are defined.
        std::fill_n(largest, heads, std::numeric_limits<T>::lowest());
      } else {
        std::copy_n(state, heads, largest);
      }
      if (segment.count() == 0) continue;
      by_head.largest(of_row, segment.count(), largest);
      if (!segment.first) rescale(largest);
      by_head.combine(of_row, segment.count(), largest, std::minus());
    }
    exponentials(e, (end - begin) * heads);
    const T *kept = e, *weights = e;
    if (mask.drops()) {
      // The sums use coefficients before dropout.
      kept_of.assign(exponents.begin(), exponents.end());
      mask.apply(begin, end - begin, kept_of.data());
      kept = weights = kept_of.data();
    }
    if (factors != nullptr) {
      weights_of.resize(exponents.size());
      for (int64_t k = 0; k < end - begin; ++k) {
        const T* factor = factors + rows.columns[begin + k] * heads;
        for (int64_t h = 0; h < heads; ++h)
          weights_of[static_cast<size_t>(k * heads + h)] = kept[k * heads + h] * factor[h];
      }
      weights = weights_of.data();
    }
    for (size_t s = 0; s < segments.size(); ++s) {
      const int64_t at = (segments[s].begin - begin) * heads;
      if (segments[s].first) begin_row(largest_of.data() + static_cast<int64_t>(s) * heads);
      add(segments[s], e + at, kept + at, weights + at);
      if (segments[s].last) finish(segments[s].row);
    }
  }

  void merge(const T* parts, int64_t count) {
    const int64_t heads = g.heads, size = numbers(g, attr.count);
    T *largest = state, *rest = largest + heads;
    std::copy_n(parts, heads, largest);
    for (int64_t p = 1; p < count; ++p)
      for (int64_t h = 0; h < heads; ++h) largest[h] = std::max(largest[h], parts[p * size + h]);
    std::fill_n(rest, size - heads, T{0});
    for (int64_t p = 0; p < count; ++p) {
      const T* part = parts + p * size;
      for (int64_t h = 0; h < heads; ++h) {
        const T factor = fast_exp(part[h] - largest[h]);
        const auto add_scaled = [&](int64_t first, int64_t n) {
          T* to = state + first;
#pragma omp simd
          for (int64_t i = 0; i < n; ++i) to[i] += factor * part[first + i];
        };
        add_scaled(heads + h, 1);
        add_scaled(2 * heads + h * g.width, g.width);
        add_scaled(2 * heads + g.pitch + h * attr.count, attr.count);
      }
    }
  }

  void finish(int64_t row) {
    const T *largest = state, *sums = largest + g.heads, *values_sum = sums + g.heads;
    const bool empty = rows.offsets[row] == rows.offsets[row + 1];
    // Whole vectors, including unused lanes beyond the heads.
    constexpr int64_t kLane = HeadRows<S>::kLane;
    for (int64_t h = 0; h < g.heads; h += kLane) {
      T logs[kLane];
#pragma omp simd
      for (int64_t i = 0; i < kLane; ++i) {
        logs[i] = empty ? T{0} : largest[h + i] + any_log(sums[h + i]);
        inverse[static_cast<size_t>(h + i)] = empty ? T{0} : T{1} / sums[h + i];
      }
      std::copy_n(logs, std::min(kLane, g.heads - h), lse + row * g.heads + h);
    }
    scale_heads(g, values_sum, inverse.data(), bias, o + row * g.pitch);
    if (!attr) return;
    const T* features = values_sum + g.pitch;
    S* to = o_attr + row * g.heads * attr.count;
    for (int64_t h = 0; h < g.heads; ++h)
      for (int64_t i = h * attr.count; i < (h + 1) * attr.count; ++i)
        to[i] = narrow<S>(features[i] * inverse[static_cast<size_t>(h)]);
  }

 private:
  /// Rescales the row's state to its new maximum logits.
  void rescale(const T* largest) {
    T* had = state;
    bool changed = false;
    for (int64_t h = 0; h < g.heads; ++h) changed = changed || largest[h] != had[h];
    if (!changed) return;
    for (int64_t h = 0; h < g.heads; ++h) {
      const T factor = fast_exp(had[h] - largest[h]);
      had[h] = largest[h];
      had[g.heads + h] *= factor;
      T *of_head = had + 2 * g.heads + h * g.width, *features = had + 2 * g.heads + g.pitch + h * attr.count;
#pragma omp simd
      for (int64_t d = 0; d < g.width; ++d) of_head[d] *= factor;
      for (int64_t e = 0; e < attr.count; ++e) features[e] *= factor;
    }
  }
  void begin_row(const T* largest) {
    const int64_t heads = g.heads;
    std::copy_n(largest, heads, state);
    std::fill_n(state + heads, heads, T{0});
    std::fill_n(state + 2 * heads + g.pitch, heads * attr.count, T{0});
  }
  void add(const Segment& segment, const T* e, const T* kept, const T* weights) {
    T *sums = state + g.heads, *values_sum = sums + g.heads, *features = values_sum + g.pitch;
    by_head.add(e, segment.count(), sums);
    g.accumulate(segment.count(), weights, rows.gathered(values, g.pitch, segment.begin, first_to_gather),
                 Weighted<S>{}, segment.first, values_sum);
    if (!attr) return;
    for (int64_t k = 0; k < segment.count(); ++k)
      add_weighted_features(g.heads, attr.count, kept + k * g.heads, attr.of(rows.edge(segment.begin + k)),
                            features);
  }
};

/// The forward pass of an attention whose values are the rows of `values`; see Attend.
template <class S, class Args, class Logits>
void attend(const Args& args, const HeadRows<S>& g, int64_t span, const Logits& logits, const S* values,
            bool first_to_gather, const Scalar<S>* factors = nullptr,
            const EdgeFeatures<Scalar<S>>& attr = {}) {
  const S* bias = nullptr;
  S* o_attr = nullptr;
  if constexpr (requires { args.bias; })
    if (args.bias) bias = args.bias.template data<S>();
  if constexpr (requires { args.o_attr; })
    if (args.o_attr) o_attr = args.o_attr.template mutable_data<S>();
  walk_spans<Scalar<S>>(args.a.csr, span, Attend<S, Logits>::numbers(g, attr.count),
                        [&](Scalar<S>* state, Scalar<S>*) {
                          return Attend<S, Logits>{g,
                                                   EdgeRows(args.a),
                                                   logits,
                                                   values,
                                                   factors,
                                                   first_to_gather,
                                                   args.dropout,
                                                   attr,
                                                   bias,
                                                   args.o.template mutable_data<S>(),
                                                   o_attr,
                                                   args.lse.template mutable_data<Scalar<S>>(),
                                                   state};
                        });
}

}  // namespace adj::kernels::cpu
