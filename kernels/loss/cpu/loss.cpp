#include <adjoint/kernels/cpu/vector_math.h>
#include <adjoint/kernels/loss/cpu/selection.h>
#include <adjoint/kernels/loss/loss.h>

#include <atomic>

namespace adj::kernels::cpu {

namespace {

/// The elementwise losses, by term and derivative; `positive`: the weights of positive labels by column.
template <bool kPositive>
struct Bce {
  template <class T>
  static T term(T x, T t, const T* positive, int64_t column) {
    const T rest = fast_log1p(fast_exp(-std::abs(x)));
    if constexpr (!kPositive) return (x > T{0} ? x : T{0}) - x * t + rest;
    const T yes = positive[column] * t, no = T{1} - t;
    return yes * ((x < T{0} ? -x : T{0}) + rest) + no * ((x > T{0} ? x : T{0}) + rest);
  }
  template <class T>
  static T slope(T x, T t, const T* positive, int64_t column) {
    const T e = fast_exp(-std::abs(x));
    if constexpr (!kPositive) return (x < T{0} ? e : T{1}) / (T{1} + e) - t;
    const T yes = positive[column] * t, no = T{1} - t;
    return (no * (x < T{0} ? e : T{1}) - yes * (x < T{0} ? T{1} : e)) / (T{1} + e);
  }
};
struct SquaredError {
  template <class T>
  static T term(T x, T t, const T*, int64_t) {
    return (x - t) * (x - t);
  }
  template <class T>
  static T slope(T x, T t, const T*, int64_t) {
    return T{2} * (x - t);
  }
};

template <class Loss>
void mean_of_terms(std::string_view op, const TargetLossArgs& args) {
  const Selection selection = checked_selection(op, args.x, args.index);
  const int64_t width = args.x.size(1);
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const S* in = args.x.data<S>();
    const T *goal = args.target.data<T>(), *positive = data_or_null<T>(args.positive);
    std::atomic<int64_t> missing = 0;
    const auto terms = [=, &missing](int64_t begin, int64_t end) {
      int64_t none = 0;
#pragma omp simd reduction(+ : none)
      for (int64_t i = begin; i < end; ++i) none += goal[i] != goal[i];
      if (none > 0) missing += none;
      return sum_of<double>(end - begin, [=](int64_t i) {
        const T t = goal[begin + i];
        return t == t ? static_cast<double>(Loss::term(widen(in[begin + i]), t, positive, i)) : 0.0;
      });
    };
    const double sum =
        selection.index == nullptr && positive == nullptr
            ? sum_of_chunks(args.x.numel(), kCostlyGrain, terms)
            : sum_of_chunks(selection.count, row_grain(width, kCostlyGrain), [&](int64_t begin, int64_t end) {
                double rows = 0.0;
                for (int64_t k = begin; k < end; ++k) {
                  const int64_t first = selection.row(k) * width;
                  rows += terms(first, first + width);
                }
                return rows;
              });
    const int64_t total = selection.count * width - missing;
    *args.total.mutable_data<T>() = static_cast<T>(total);
    *args.loss.mutable_data<T>() = total == 0 ? T{0} : static_cast<T>(sum / static_cast<double>(total));
  });
}

template <class Loss>
void mean_of_terms_backward(std::string_view op, const TargetLossBackwardArgs& args) {
  const Selection selection = checked_selection(op, args.x, args.index);
  const int64_t width = args.x.size(1);
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const S* in = args.x.data<S>();
    const T *goal = args.target.data<T>(), *positive = data_or_null<T>(args.positive);
    S* grad = args.dx.mutable_data<S>();
    const T all = *args.total.data<T>(), factor = all == T{0} ? T{0} : *args.dloss.data<T>() / all;
    const auto slopes = [=](int64_t begin, int64_t end, T weight) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const T slope = Loss::slope(widen(in[i]), goal[i], positive, i - begin);
        grad[i] = narrow<S>(goal[i] == goal[i] ? weight * slope : T{0});
      }
    };
    if (selection.index == nullptr && positive == nullptr) {
      parallel_for(args.x.numel(), kCostlyGrain,
                   [=](int64_t begin, int64_t end) { slopes(begin, end, factor); });
    } else {
      for_selected_rows(selection, args.x.size(0), width, grad,
                        [=](int64_t begin, int64_t end, auto row_of, auto often) {
                          for (int64_t k = begin; k < end; ++k) {
                            const int64_t row = row_of(k);
                            slopes(row * width, (row + 1) * width, factor * static_cast<T>(often(row)));
                          }
                        });
    }
  });
}

}  // namespace

void bce_with_logits(const TargetLossArgs& args) {
  const auto mean = args.positive ? mean_of_terms<Bce<true>> : mean_of_terms<Bce<false>>;
  mean("bce_with_logits", args);
}
void bce_with_logits_backward(const TargetLossBackwardArgs& args) {
  const auto mean = args.positive ? mean_of_terms_backward<Bce<true>> : mean_of_terms_backward<Bce<false>>;
  mean("bce_with_logits_backward", args);
}
void mse_loss(const TargetLossArgs& args) { mean_of_terms<SquaredError>("mse_loss", args); }
void mse_loss_backward(const TargetLossBackwardArgs& args) {
  mean_of_terms_backward<SquaredError>("mse_loss_backward", args);
}

void weighted_targets(const WeightedTargetsArgs& args) {
  const Selection selection = checked_selection("weighted_targets", args.target, args.index);
  const int64_t width = args.target.size(1);
  dispatch_float(args.target.dtype(), "weighted_targets", [&]<class T>() {
    const T *target = args.target.data<T>(), *weight = args.weight.data<T>();
    T *goal = args.goal.mutable_data<T>(), *share = args.share.mutable_data<T>();
    for_rows(selection.count, width, [=](int64_t k) {
      const T* row = target + selection.row(k) * width;
      const T part = weight[k] / static_cast<T>(width);
      for (int64_t t = 0; t < width; ++t) {
        const bool some = row[t] == row[t];
        goal[k * width + t] = some ? row[t] : T{0};
        share[k * width + t] = some ? part : T{0};
      }
    });
  });
}

}  // namespace adj::kernels::cpu
