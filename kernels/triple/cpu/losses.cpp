#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/cpu/vector_math.h>
#include <adjoint/kernels/triple/losses.h>
#include <adjoint/kernels/triple/rules.h>

#include <limits>

namespace adj::kernels::cpu {

namespace {

// As in rules.h, by functions that vectorize.
template <class T>
T soft_plus(T x) {
  return (x > 0 ? x : T{0}) + fast_log1p(fast_exp(-std::abs(x)));
}
template <class T>
T logistic(T x) {
  return T{1} / (T{1} + any_exp(-x));
}

constexpr int64_t kRows = 4;  // per task: rows have hundreds of exponentials

template <class T>
T largest_of(const T* x, int64_t n, T start) {
#pragma omp simd reduction(max : start)
  for (int64_t k = 0; k < n; ++k) start = x[k] > start ? x[k] : start;
  return start;
}

/// Largest of a row and Σ exp(factor (x - largest)).
template <class T>
std::pair<T, T> soft_sum(const T* x, int64_t n, T factor) {
  const T most = largest_of(x, n, -std::numeric_limits<T>::infinity());
  return {most, sum_of<T>(n, [=](int64_t k) { return fast_exp(factor * (x[k] - most)); })};
}

/// f(place) for the true entities of query i within the chunk.
template <class F>
void for_targets(const TripleTargets& target, int64_t i, int64_t begin, int64_t count, F&& f) {
  const int64_t* offsets = target.offsets.data<int64_t>();
  const int32_t row = target.rows.data<int32_t>()[i];
  for (int64_t k = offsets[row]; k < offsets[row + 1]; ++k)
    if (const int64_t place = target.ids.data<int32_t>()[k] - begin; place >= 0 && place < count) f(place);
}
int64_t number_of_targets(const TripleTargets& target, int64_t i) {
  const int64_t* offsets = target.offsets.data<int64_t>() + target.rows.data<int32_t>()[i];
  return std::max<int64_t>(1, offsets[1] - offsets[0]);
}

/// The factors of queries' losses, 1 where there are none.
template <class T>
auto weights_of(const Tensor& weight) {
  return [w = data_or_null<T>(weight), n = weight ? weight.numel() : 1](int64_t i) {
    return w != nullptr ? w[i % n] : T{1};
  };
}

/// Mean of f(i) over n.
template <class T, class F>
void write_mean(int64_t n, Tensor& mean, F f) {
  const double sum = sum_of_chunks(n, 64, [=](int64_t begin, int64_t end) {
    double part = 0.0;
    for (int64_t i = begin; i < end; ++i) part += static_cast<double>(f(i));
    return part;
  });
  *mean.mutable_data<T>() = static_cast<T>(n > 0 ? sum / static_cast<double>(n) : 0.0);
}

}  // namespace

void drawn_loss(const DrawnLossArgs& args) {
  const int64_t rows = args.drawn.size(0), count = args.drawn.size(1);
  dispatch_float(args.y.dtype(), "drawn_loss", [&]<class T>() {
    const T *y = args.y.data<T>(), *drawn = args.drawn.data<T>();
    const T margin = static_cast<T>(args.rule.margin), temperature = static_cast<T>(args.rule.temperature);
    const auto loss_of = [=, kind = args.rule.kind](int64_t i) {
      const T* n = drawn + i * count;
      if (kind == TripleLoss::softmax) {
        const auto [most, sum] = soft_sum(n, count, T{1});
        const T top = std::max(most, y[i]);
        return std::log((count > 0 ? sum * fast_exp(most - top) : T{0}) + fast_exp(y[i] - top)) + top - y[i];
      }
      const auto [most, total] = soft_sum(n, count, temperature);
      return soft_plus(-(margin + y[i])) + sum_of<T>(count, [=, most = most, total = total](int64_t k) {
               return fast_exp(temperature * (n[k] - most)) / total * soft_plus(margin + n[k]);
             });
    };
    const auto weight = weights_of<T>(args.weight);
    write_mean<T>(rows, args.loss, [=](int64_t i) { return weight(i) * loss_of(i); });
  });
}

void drawn_loss_backward(const DrawnLossBackwardArgs& args) {
  const int64_t rows = args.drawn.size(0), count = args.drawn.size(1);
  dispatch_float(args.y.dtype(), "drawn_loss", [&]<class T>() {
    const T *y = args.y.data<T>(), *drawn = args.drawn.data<T>();
    T *dy = args.dy.mutable_data<T>(), *ddrawn = args.ddrawn.mutable_data<T>();
    const T margin = static_cast<T>(args.rule.margin), temperature = static_cast<T>(args.rule.temperature),
            mean = *args.dloss.data<T>() / static_cast<T>(rows);
    const auto weight_of = weights_of<T>(args.weight);
    for_each_index(rows, kRows, [=, kind = args.rule.kind](int64_t i) {
      const T* n = drawn + i * count;
      T* dn = ddrawn + i * count;
      const T share = mean * weight_of(i);
      const bool soft = kind == TripleLoss::softmax;
      const auto [low, part] = soft_sum(n, count, soft ? T{1} : temperature);
      T most = low, total = part;
      if (soft) {
        most = std::max(low, y[i]);
        total = (count > 0 ? part * fast_exp(low - most) : T{0}) + fast_exp(y[i] - most);
        dy[i] = share * (fast_exp(y[i] - most) / total - 1);
      } else {
        dy[i] = -share * logistic(-(margin + y[i]));
      }
      const T factor = soft ? T{1} : temperature;
#pragma omp simd
      for (int64_t k = 0; k < count; ++k) {
        const T weight = fast_exp(factor * (n[k] - most)) / total;
        dn[k] = share * weight * (soft ? T{1} : logistic(margin + n[k]));
      }
    });
  });
}

void entity_loss(const EntityLossArgs& args) {
  const int64_t rows = args.y.size(0), count = args.y.size(1);
  dispatch_float(args.y.dtype(), "entity_loss", [&]<class T>() {
    const T* y = args.y.data<T>();
    T* state = args.state.mutable_data<T>();
    for_each_index(rows, kRows, [=, kind = args.kind, begin = args.begin, target = args.target](int64_t i) {
      const T* row = y + i * count;
      T* s = state + 3 * i;
      const bool soft = kind == TripleLoss::softmax;
      if (begin == 0) s[0] = soft ? -std::numeric_limits<T>::infinity() : T{0}, s[1] = s[2] = 0;
      if (soft) {
        const T most = largest_of(row, count, s[0]);
        const T before = s[1] > 0 ? s[1] * fast_exp(s[0] - most) : T{0};
        s[1] = before + sum_of<T>(count, [=](int64_t k) { return fast_exp(row[k] - most); });
        s[0] = most;
      } else {
        s[1] += sum_of<T>(count, [=](int64_t k) { return soft_plus(row[k]); });
      }
      for_targets(target, i, begin, count, [=](int64_t place) { s[2] += row[place]; });
    });
  });
}

void entity_loss_mean(const EntityLossMeanArgs& args) {
  dispatch_float(args.state.dtype(), "entity_loss", [&]<class T>() {
    const T* state = args.state.data<T>();
    write_mean<T>(args.state.size(0), args.loss,
                  [=, soft = args.kind == TripleLoss::softmax, target = args.target](int64_t i) {
                    const T* s = state + 3 * i;
                    return soft ? std::log(s[1]) + s[0] - s[2] / static_cast<T>(number_of_targets(target, i))
                                : s[1] - s[2];
                  });
  });
}

void entity_loss_backward(const EntityLossBackwardArgs& args) {
  const int64_t rows = args.y.size(0), count = args.y.size(1);
  dispatch_float(args.y.dtype(), "entity_loss", [&]<class T>() {
    T* y = args.y.mutable_data<T>();
    const T* state = args.state.data<T>();
    const T share = *args.dloss.data<T>() / static_cast<T>(rows);
    for_each_index(rows, kRows, [=, kind = args.kind, begin = args.begin, target = args.target](int64_t i) {
      T* row = y + i * count;
      const bool soft = kind == TripleLoss::softmax;
      if (soft) {
        const T most = state[3 * i], factor = share / state[3 * i + 1];
#pragma omp simd
        for (int64_t k = 0; k < count; ++k) row[k] = factor * fast_exp(row[k] - most);
      } else {
#pragma omp simd
        for (int64_t k = 0; k < count; ++k) row[k] = share * logistic(row[k]);
      }
      const T each = soft ? share / static_cast<T>(number_of_targets(target, i)) : share;
      for_targets(target, i, begin, count, [=](int64_t place) { row[place] -= each; });
    });
  });
}

}  // namespace adj::kernels::cpu
