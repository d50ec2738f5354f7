// The logits are read once, here and in the backward pass, which recomputes the softmax. Only the sum of the
// weights is saved; unless all are 1, a preceding launch computes it from the labels.
#include <adjoint/kernels/cuda/rows.cuh>
#include <adjoint/kernels/loss/cuda/selection.cuh>
#include <adjoint/kernels/loss/loss.h>

#include <limits>

namespace adj::kernels::cuda {

namespace {

/// Labels of rows and weights of labels. Plain: all weights are 1 and no label is ignored; the passes are
/// short, so that what those take of their instructions shows.
template <class W, bool kPlain>
struct Labels {
  const int32_t* label;
  const W* weight;  // null: 1
  int64_t classes, ignored;
  Fault outside;

  __device__ bool valid(int64_t truth) const { return truth >= 0 && truth < classes; }
  __device__ bool ignores(int64_t truth) const { return !kPlain && truth == ignored; }
  /// 0 if the label is ignored, NaN if it is out of range.
  __device__ W weight_of(int64_t truth) const {
    if (ignores(truth)) return W{0};
    if (!valid(truth)) return std::numeric_limits<W>::quiet_NaN();
    return !kPlain && weight != nullptr ? weight[truth] : W{1};
  }
};

template <bool kPlain, class W, class Args>
Labels<W, kPlain> labels_of(const Args& args) {
  return {args.label.template data<int32_t>(), data_or_null<W>(args.weight), args.x.size(1), args.ignored,
          fault_of(args.x.device().index, "cross_entropy", "label")};
}

/// Calls f.template operator()<kPlain>().
template <class Args, class F>
void dispatch_plain(const Args& args, F&& f) {
  const bool plain = !args.weight && args.ignored == kNothingIgnored;
  plain ? f.template operator()<true>() : f.template operator()<false>();
}

template <class W>
struct Weights {
  Selection selection;
  Labels<W, false> labels;
  __device__ double operator()(int64_t k) const {
    const int64_t row = selection.row(k);
    return row < 0 ? std::numeric_limits<double>::quiet_NaN()
                   : static_cast<double>(labels.weight_of(labels.label[row]));
  }
};

template <class W>
struct StoreSum {
  W* output;
  __device__ void operator()(double sum) const { *output = static_cast<W>(sum); }
};

template <class W>
struct StoreMean {
  double count;  // the total, if all weights are 1; 0: `total` is present
  W *total, *loss;
  __device__ void operator()(double sum) const {
    if (count > 0.0) {
      *total = static_cast<W>(count);
      *loss = static_cast<W>(sum / count);
      return;
    }
    *loss = *total == W{0} ? W{0} : static_cast<W>(sum / static_cast<double>(*total));
  }
};

template <class T, bool kPlain>
struct Term {
  using W = Accumulator<T>;
  Labels<W, kPlain> labels;

  __device__ void operator()(const T* x, int64_t width, int64_t row, W largest, W total, double& sum) const {
    // A label or row out of range makes the loss NaN and accesses no memory.
    W logit = std::numeric_limits<W>::quiet_NaN(), weight = W{1};
    if (row >= 0) {
      const int32_t truth = labels.label[row];
      if (labels.ignores(truth)) return;
      if (labels.valid(truth)) {
        logit = widen(x[row * width + truth]);
        weight = labels.weight_of(truth);
      } else {
        raise(labels.outside, row, truth, width);
      }
    }
    const W term = log(total) + (largest - logit);
    sum += static_cast<double>(kPlain ? term : weight * term);
  }
};

// dx = (softmax(x) - onehot(label)) w dloss times / total.
template <class T, bool kPlain>
struct CrossEntropyBackward {
  static constexpr bool kTwoRows = kPlain;
  const int32_t* times;  // number of times each row is selected; null: once
  const T* x;
  int64_t width;
  Labels<Accumulator<T>, kPlain> labels;
  const Accumulator<T>*total, *dloss;
  T* dx;

  template <int N, int kLanes, int kHeld>
  __device__ void row(int64_t k, int lane) const {
    using W = Accumulator<T>;
    const int32_t selected = k < 0 ? 0 : often(times, k);
    const int64_t row = selected > 0 ? k : -1;
    const RowView<T, N, kLanes, kHeld> view(x, width, row, lane);
    W largest, sum;
    soft_maximum(view, largest, sum);
    if (row < 0) {
      constexpr Pack<W, N> kZeros{};
      for (int64_t p = lane; k >= 0 && p < width / N; p += kLanes)
        store_narrow<N>(dx + k * width + p * N, kZeros);
      return;
    }
    const int64_t truth = labels.label[row];
    const W times_selected = static_cast<W>(selected);
    bool nothing = false;
    W share;
    if constexpr (kPlain) {
      share = *dloss / *total * times_selected;
    } else {
      const W all = *total;
      nothing = labels.ignores(truth) || all == W{0};
      share = nothing ? W{0} : labels.weight_of(truth) * (*dloss / all) * times_selected;
    }
    const W factor = share / sum;
    view.each([&](int64_t column, Pack<W, N> pack) {
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const W d = exp(pack[j] - largest) * factor - (column + j == truth ? share : W{0});
        pack[j] = !kPlain && nothing ? W{0} : d;
      }
      store_narrow<N>(dx + row * width + column, pack);
    });
  }
};

}  // namespace

void softmax_cross_entropy(const SoftmaxCrossEntropyArgs& args) {
  constexpr const char* kName = "softmax_cross_entropy";
  const Selection selection = selection_of("cross_entropy", args.x, args.index);
  dispatch_features(args.x.dtype(), [&]<class T>() {
    using W = Accumulator<T>;
    W* total = args.total.mutable_data<W>();
    dispatch_plain(args, [&]<bool kPlain>() {
      const Labels<W, kPlain> labels = labels_of<kPlain, W>(args);
      if constexpr (!kPlain)
        flat_sum<double>(kName, args.x.device().index, selection.count, Weights<W>{selection, labels},
                         StoreSum<W>{total});
      sum_row_terms<T>(kName, selection, args.x, Term<T, kPlain>{labels},
                       StoreMean<W>{kPlain ? static_cast<double>(selection.count) : 0.0, total,
                                    args.loss.mutable_data<W>()});
    });
  });
}

void softmax_cross_entropy_backward(const SoftmaxCrossEntropyBackwardArgs& args) {
  constexpr const char* kName = "softmax_cross_entropy_backward";
  const Selection selection = selection_of(kName, args.x, args.index);
  dispatch_features(args.x.dtype(), [&]<class T>() {
    using W = Accumulator<T>;
    const Tensor times = times_selected(kName, selection, args.x.device());
    dispatch_plain(args, [&]<bool kPlain>() {
      const CrossEntropyBackward<T, kPlain> body{
          counts_of(times),     args.x.data<T>(),     args.x.size(1),           labels_of<kPlain, W>(args),
          args.total.data<W>(), args.dloss.data<W>(), args.dx.mutable_data<T>()};
      map_rows<T>(kName, args.x.device().index, args.x.size(0), args.x.size(1),
                  aligned_to_16(body.x, body.dx), body);
    });
  });
}

}  // namespace adj::kernels::cuda
