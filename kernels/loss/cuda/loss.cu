#include <adjoint/kernels/cuda/rows.cuh>
#include <adjoint/kernels/loss/cuda/selection.cuh>
#include <adjoint/kernels/loss/loss.h>

#include <limits>

namespace adj::kernels::cuda {

namespace {

/// The elementwise losses, by term and derivative; `positive`: the weights of positive labels by column.
template <bool kPositive>
struct Bce {
  template <class T>
  static __device__ T term(T x, T t, const T* positive, int64_t column) {
    const T rest = log1p(exp(-fabs(x)));
    if constexpr (!kPositive) return (x > T{0} ? x : T{0}) - x * t + rest;
    const T yes = positive[column] * t, no = T{1} - t;
    return yes * ((x < T{0} ? -x : T{0}) + rest) + no * ((x > T{0} ? x : T{0}) + rest);
  }
  template <class T>
  static __device__ T slope(T x, T t, const T* positive, int64_t column) {
    const T e = exp(-fabs(x));
    if constexpr (!kPositive) return (x < T{0} ? e : T{1}) / (T{1} + e) - t;
    const T yes = positive[column] * t, no = T{1} - t;
    return (no * (x < T{0} ? e : T{1}) - yes * (x < T{0} ? T{1} : e)) / (T{1} + e);
  }
};
struct SquaredError {
  template <class T>
  static __device__ T term(T x, T t, const T*, int64_t) {
    return (x - t) * (x - t);
  }
  template <class T>
  static __device__ T slope(T x, T t, const T*, int64_t) {
    return T{2} * (x - t);
  }
};

template <class Loss, class S>
struct Terms {
  Selection selection;
  const S* x;
  const Accumulator<S>*target, *positive;
  int64_t width;

  __device__ Counted operator()(int64_t i) const {
    int64_t index = i;
    if (selection.index != nullptr) {
      const int64_t k = i / width, row = selection.row(k);
      if (row < 0) return {std::numeric_limits<double>::quiet_NaN(), 1.0};
      index = row * width + (i - k * width);
    }
    const Accumulator<S> t = target[index];
    if (isnan(t)) return {0.0, 0.0};
    return {static_cast<double>(Loss::term(widen(x[index]), t, positive, index % width)), 1.0};
  }
};

template <class T>
struct StoreMeanOfCounted {
  T *total, *loss;
  __device__ void operator()(Counted all) const {
    *total = static_cast<T>(all.count);
    *loss = all.count == 0.0 ? T{0} : static_cast<T>(all.sum / all.count);
  }
};

template <class Loss, class S>
struct Slopes {
  using T = Accumulator<S>;
  const int32_t* times;
  const S* x;
  const T *target, *positive;
  int64_t width;
  const T *total, *dloss;
  S* dx;

  __device__ void operator()(int64_t i) const {
    const int64_t row = i / width;
    const int32_t selected = often(times, row);
    const T t = target[i], factor = *dloss / *total * static_cast<T>(selected);
    dx[i] = narrow<S>(
        selected == 0 || isnan(t) ? T{0} : factor * Loss::slope(widen(x[i]), t, positive, i - row * width));
  }
};

template <class Loss>
void mean_of_terms(const char* name, const TargetLossArgs& args) {
  const Selection selection = selection_of(name, args.x, args.index);
  const int64_t width = args.x.size(1), items = selection.count * width;
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    flat_sum<Counted>(name, args.x.device().index, items,
                      Terms<Loss, S>{selection, args.x.data<S>(), args.target.data<T>(),
                                     data_or_null<T>(args.positive), width},
                      StoreMeanOfCounted<T>{args.total.mutable_data<T>(), args.loss.mutable_data<T>()});
  });
}

template <class Loss>
void mean_of_terms_backward(const char* name, const TargetLossBackwardArgs& args) {
  const Selection selection = selection_of(name, args.x, args.index);
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const Tensor times = times_selected(name, selection, args.x.device());
    for_each(name, args.x.device().index, args.x.numel(),
             Slopes<Loss, S>{counts_of(times), args.x.data<S>(), args.target.data<T>(),
                             data_or_null<T>(args.positive), args.x.size(1), args.total.data<T>(),
                             args.dloss.data<T>(), args.dx.mutable_data<S>()});
  });
}

template <class T>
struct WeightedTargets {
  Selection selection;
  const T* target;
  int64_t width;
  const T* weight;
  T *goal, *share;

  __device__ void operator()(int64_t i) const {
    const int64_t k = i / width, row = selection.row(k);
    const T t = row < 0 ? T{0} : target[row * width + (i - k * width)];
    goal[i] = isnan(t) ? T{0} : t;
    share[i] = row < 0    ? std::numeric_limits<T>::quiet_NaN()
               : isnan(t) ? T{0}
                          : weight[k] / static_cast<T>(width);
  }
};

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
  const Selection selection = selection_of("weighted_targets", args.target, args.index);
  dispatch_float(args.target.dtype(), "weighted_targets", [&]<class T>() {
    for_each("weighted_targets", args.target.device().index, args.goal.numel(),
             WeightedTargets<T>{selection, args.target.data<T>(), args.target.size(1), args.weight.data<T>(),
                                args.goal.mutable_data<T>(), args.share.mutable_data<T>()});
  });
}

}  // namespace adj::kernels::cuda
