#include <adjoint/kernels/attention/cpu/attend.h>

#include <limits>

namespace adj::kernels::cpu {

template <class S>
class Attend<S>::Local {
 public:
  explicit Local(const Attend& body)
      : body_(body),
        logits_(body.logits),
        by_head_(body.g.heads),
        mask_(body.dropout, body.rows.order, body.g.heads),
        e_(room_for<S>(body.g.span() * body.g.heads)),
        largest_(room_for<S>(static_cast<int64_t>(detail::kMostSegments) * body.g.heads)),
        inverse_(room_for<S>(body.g.heads)),
        state_(room_for<S>(body.numbers())) {}

  T* state() { return state_.data(); }

  void run(int64_t begin, int64_t end, std::span<const Segment> segments) {
    const HeadRows<S>& g = body_.g;
    const int64_t heads = g.heads;
    T* e = e_.data();
    logits_(begin, segments, e);
    for (size_t s = 0; s < segments.size(); ++s) {
      const Segment& segment = segments[s];
      T* largest = largest_.data() + static_cast<int64_t>(s) * heads;
      T* logits = e + (segment.begin - begin) * heads;
      if (segment.first) {
        // The lowest finite number instead of -inf, so that differences to -inf are defined.
        std::fill_n(largest, heads, std::numeric_limits<T>::lowest());
      } else {
        std::copy_n(state_.data(), heads, largest);
      }
      if (segment.count() == 0) continue;
      by_head_.largest(logits, segment.count(), largest);
      if (!segment.first) rescale(largest);
      by_head_.combine(logits, segment.count(), largest, std::minus());
    }
    exponentials(e, (end - begin) * heads);
    const T *kept = e, *weights = e;
    if (mask_.drops()) {
      // The sums use coefficients before dropout.
      kept_.assign(e_.begin(), e_.end());
      mask_.apply(begin, end - begin, kept_.data());
      kept = weights = kept_.data();
    }
    if (body_.factors != nullptr) {
      weights_.resize(e_.size());
      for (int64_t k = 0; k < end - begin; ++k) {
        const T* factor = body_.factors + body_.rows.columns[begin + k] * heads;
        for (int64_t h = 0; h < heads; ++h)
          weights_[static_cast<size_t>(k * heads + h)] = kept[k * heads + h] * factor[h];
      }
      weights = weights_.data();
    }
    for (size_t s = 0; s < segments.size(); ++s) {
      const int64_t offset = (segments[s].begin - begin) * heads;
      if (segments[s].first) begin_row(largest_.data() + static_cast<int64_t>(s) * heads);
      add(segments[s], e + offset, kept + offset, weights + offset);
      if (segments[s].last) finish(segments[s].row);
    }
  }

  void merge(const T* parts, int64_t count) {
    const int64_t heads = body_.g.heads, numbers = body_.numbers();
    T *largest = state_.data(), *rest = largest + heads;
    std::copy_n(parts, heads, largest);
    for (int64_t p = 1; p < count; ++p)
      for (int64_t h = 0; h < heads; ++h) largest[h] = std::max(largest[h], parts[p * numbers + h]);
    std::fill_n(rest, numbers - heads, T{0});
    for (int64_t p = 0; p < count; ++p) {
      const T* part = parts + p * numbers;
      for (int64_t h = 0; h < heads; ++h) {
        const T factor = fast_exp(part[h] - largest[h]);
        const auto add = [&](int64_t first, int64_t n) {
          T* sums = state_.data() + first;
#pragma omp simd
          for (int64_t i = 0; i < n; ++i) sums[i] += factor * part[first + i];
        };
        add(heads + h, 1);
        add(2 * heads + h * body_.g.width, body_.g.width);
        add(2 * heads + body_.g.pitch + h * body_.attr.count, body_.attr.count);
      }
    }
  }

  void finish(int64_t row) {
    const HeadRows<S>& g = body_.g;
    const T *largest = state_.data(), *sums = largest + g.heads, *o = sums + g.heads;
    T* lse = body_.lse + row * g.heads;
    const bool empty = body_.rows.offsets[row] == body_.rows.offsets[row + 1];
    // Whole vectors, including unused lanes beyond the heads.
    constexpr int64_t kLane = HeadRows<S>::kLane;
    for (int64_t h = 0; h < g.heads; h += kLane) {
      T logs[kLane];
#pragma omp simd
      for (int64_t i = 0; i < kLane; ++i) {
        logs[i] = empty ? T{0} : largest[h + i] + any_log(sums[h + i]);
        inverse_[static_cast<size_t>(h + i)] = empty ? T{0} : T{1} / sums[h + i];
      }
      std::copy_n(logs, std::min(kLane, g.heads - h), lse + h);
    }
    scale_heads(g, o, inverse_.data(), body_.bias, body_.o + row * g.pitch);
    if (!body_.attr) return;
    const T* features = o + g.pitch;
    S* output = body_.o_attr + row * g.heads * body_.attr.count;
    for (int64_t h = 0; h < g.heads; ++h)
      for (int64_t i = h * body_.attr.count; i < (h + 1) * body_.attr.count; ++i)
        output[i] = narrow<S>(features[i] * inverse_[static_cast<size_t>(h)]);
  }

 private:
  /// Rescales the row's state to its new maximum logits.
  void rescale(const T* largest) {
    const HeadRows<S>& g = body_.g;
    T* had = state_.data();
    bool changed = false;
    for (int64_t h = 0; h < g.heads; ++h) changed = changed || largest[h] != had[h];
    if (!changed) return;
    for (int64_t h = 0; h < g.heads; ++h) {
      const T factor = fast_exp(had[h] - largest[h]);
      had[h] = largest[h];
      had[g.heads + h] *= factor;
      T *o = had + 2 * g.heads + h * g.width, *o_attr = had + 2 * g.heads + g.pitch + h * body_.attr.count;
#pragma omp simd
      for (int64_t d = 0; d < g.width; ++d) o[d] *= factor;
      for (int64_t e = 0; e < body_.attr.count; ++e) o_attr[e] *= factor;
    }
  }
  void begin_row(const T* largest) {
    const int64_t heads = body_.g.heads;
    std::copy_n(largest, heads, state_.data());
    std::fill_n(state_.data() + heads, heads, T{0});
    std::fill_n(state_.data() + 2 * heads + body_.g.pitch, heads * body_.attr.count, T{0});
  }
  void add(const Segment& segment, const T* e, const T* kept, const T* weights) {
    const HeadRows<S>& g = body_.g;
    T *sums = state_.data() + g.heads, *o = sums + g.heads, *o_attr = o + g.pitch;
    by_head_.add(e, segment.count(), sums);
    g.accumulate(segment.count(), weights,
                 body_.rows.gathered(body_.values, g.pitch, segment.begin, body_.first_to_gather),
                 segment.first, o);
    if (!body_.attr) return;
    for (int64_t k = 0; k < segment.count(); ++k)
      add_weighted_features(g.heads, body_.attr.count, kept + k * g.heads,
                            body_.attr.row(body_.rows.edge(segment.begin + k)), o_attr);
  }

  const Attend& body_;
  SpanLogits<T> logits_;
  ByHead<T> by_head_;
  AttentionMask<T> mask_;
  std::vector<T> e_, kept_, weights_, largest_, inverse_, state_;
};

template <class S>
void Attend<S>::run(int64_t span) const {
  walk_spans<T>(rows.csr, span, *this);
}

template struct Attend<float>;
template struct Attend<double>;
template struct Attend<bfloat16>;

}  // namespace adj::kernels::cpu
