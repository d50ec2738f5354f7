#include <adjoint/kernels/attention/cpu/attend.h>

#include <limits>

namespace adj::kernels::cpu {

template <class S>
struct Attend<S>::Local {
  const Attend& body;
  SpanLogits<T> logits_of = body.logits;
  ByHead<T> by_head{body.g.heads};
  AttentionMask<T> mask{body.dropout, body.rows.order, body.g.heads};
  std::vector<T> e_of_span = room_for<S>(body.g.span() * body.g.heads), kept_of_span = {},
                 weights_of_span = {},
                 largest_of = room_for<S>(static_cast<int64_t>(detail::kMostSegments) * body.g.heads),
                 inverse = room_for<S>(body.g.heads), row_state = room_for<S>(body.numbers());

  T* state() { return row_state.data(); }

  void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
    const HeadRows<S>& g = body.g;
    const int64_t heads = g.heads;
    T* e = e_of_span.data();
    logits_of(begin, segments, e);
    for (size_t s = 0; s < segments.size(); ++s) {
      const Segment& segment = segments[s];
      T* largest = largest_of.data() + static_cast<int64_t>(s) * heads;
      T* logits = e + (segment.begin - begin) * heads;
      if (segment.first) {
        // The lowest finite number instead of -inf, so that differences to -inf are defined.
        std::fill_n(largest, heads, std::numeric_limits<T>::lowest());
      } else {
        std::copy_n(row_state.data(), heads, largest);
      }
      if (segment.count() == 0) continue;
      by_head.largest(logits, segment.count(), largest);
      if (!segment.first) rescale(largest);
      by_head.combine(logits, segment.count(), largest, std::minus());
    }
    exponentials(e, (end - begin) * heads);
    const T *kept = e, *weights = e;
    if (mask.drops()) {
      // The sums use coefficients before dropout.
      kept_of_span.assign(e_of_span.begin(), e_of_span.end());
      mask.apply(begin, end - begin, kept_of_span.data());
      kept = weights = kept_of_span.data();
    }
    if (body.factors != nullptr) {
      weights_of_span.resize(e_of_span.size());
      for (int64_t k = 0; k < end - begin; ++k) {
        const T* factor = body.factors + body.rows.columns[begin + k] * heads;
        for (int64_t h = 0; h < heads; ++h)
          weights_of_span[static_cast<size_t>(k * heads + h)] = kept[k * heads + h] * factor[h];
      }
      weights = weights_of_span.data();
    }
    for (size_t s = 0; s < segments.size(); ++s) {
      const int64_t offset = (segments[s].begin - begin) * heads;
      if (segments[s].first) begin_row(largest_of.data() + static_cast<int64_t>(s) * heads);
      add(segments[s], e + offset, kept + offset, weights + offset);
      if (segments[s].last) finish(segments[s].row);
    }
  }

  void merge(const T* parts, int64_t count) {
    const int64_t heads = body.g.heads, numbers = body.numbers();
    T *largest = row_state.data(), *rest = largest + heads;
    std::copy_n(parts, heads, largest);
    for (int64_t p = 1; p < count; ++p)
      for (int64_t h = 0; h < heads; ++h) largest[h] = std::max(largest[h], parts[p * numbers + h]);
    std::fill_n(rest, numbers - heads, T{0});
    for (int64_t p = 0; p < count; ++p) {
      const T* part = parts + p * numbers;
      for (int64_t h = 0; h < heads; ++h) {
        const T factor = fast_exp(part[h] - largest[h]);
        const auto add = [&](int64_t first, int64_t n) {
          T* sums = row_state.data() + first;
#pragma omp simd
          for (int64_t i = 0; i < n; ++i) sums[i] += factor * part[first + i];
        };
        add(heads + h, 1);
        add(2 * heads + h * body.g.width, body.g.width);
        add(2 * heads + body.g.pitch + h * body.attr.count, body.attr.count);
      }
    }
  }

  void finish(int64_t row) {
    const HeadRows<S>& g = body.g;
    const T *largest = row_state.data(), *sums = largest + g.heads, *o = sums + g.heads;
    T* lse = body.lse + row * g.heads;
    const bool empty = body.rows.offsets[row] == body.rows.offsets[row + 1];
    // Whole vectors, including unused lanes beyond the heads.
    constexpr int64_t kLane = HeadRows<S>::kLane;
    for (int64_t h = 0; h < g.heads; h += kLane) {
      T logs[kLane];
#pragma omp simd
      for (int64_t i = 0; i < kLane; ++i) {
        logs[i] = empty ? T{0} : largest[h + i] + any_log(sums[h + i]);
        inverse[static_cast<size_t>(h + i)] = empty ? T{0} : T{1} / sums[h + i];
      }
      std::copy_n(logs, std::min(kLane, g.heads - h), lse + h);
    }
    scale_heads(g, o, inverse.data(), body.bias, body.o + row * g.pitch);
    if (!body.attr) return;
    const T* features = o + g.pitch;
    S* output = body.o_attr + row * g.heads * body.attr.count;
    for (int64_t h = 0; h < g.heads; ++h)
      for (int64_t i = h * body.attr.count; i < (h + 1) * body.attr.count; ++i)
        output[i] = narrow<S>(features[i] * inverse[static_cast<size_t>(h)]);
  }

 private:
  /// Rescales the row's state to its new maximum logits.
  void rescale(const T* largest) {
    const HeadRows<S>& g = body.g;
    T* had = row_state.data();
    bool changed = false;
    for (int64_t h = 0; h < g.heads; ++h) changed = changed || largest[h] != had[h];
    if (!changed) return;
    for (int64_t h = 0; h < g.heads; ++h) {
      const T factor = fast_exp(had[h] - largest[h]);
      had[h] = largest[h];
      had[g.heads + h] *= factor;
      T *o = had + 2 * g.heads + h * g.width, *o_attr = had + 2 * g.heads + g.pitch + h * body.attr.count;
#pragma omp simd
      for (int64_t d = 0; d < g.width; ++d) o[d] *= factor;
      for (int64_t e = 0; e < body.attr.count; ++e) o_attr[e] *= factor;
    }
  }
  void begin_row(const T* largest) {
    const int64_t heads = body.g.heads;
    std::copy_n(largest, heads, row_state.data());
    std::fill_n(row_state.data() + heads, heads, T{0});
    std::fill_n(row_state.data() + 2 * heads + body.g.pitch, heads * body.attr.count, T{0});
  }
  void add(const Segment& segment, const T* e, const T* kept, const T* weights) {
    const HeadRows<S>& g = body.g;
    T *sums = row_state.data() + g.heads, *o = sums + g.heads, *o_attr = o + g.pitch;
    by_head.add(e, segment.count(), sums);
    g.accumulate(segment.count(), weights,
                 body.rows.gathered(body.values, g.pitch, segment.begin, body.first_to_gather), segment.first,
                 o);
    if (!body.attr) return;
    for (int64_t k = 0; k < segment.count(); ++k)
      add_weighted_features(g.heads, body.attr.count, kept + k * g.heads,
                            body.attr.row(body.rows.edge(segment.begin + k)), o_attr);
  }
};

template <class S>
void Attend<S>::run(int64_t span) const {
  walk_spans<T>(rows.csr, span, *this);
}

template struct Attend<float>;
template struct Attend<double>;
template struct Attend<bfloat16>;

}  // namespace adj::kernels::cpu
