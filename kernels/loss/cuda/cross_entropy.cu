// The logits are read once, here and in the backward pass, which recomputes the softmax. Only the sum of the
// weights is saved; unless all are 1, a preceding launch computes it from the labels.
#include <adjoint/kernels/cuda/rows.cuh>
#include <adjoint/kernels/loss/cuda/selection.cuh>
#include <adjoint/kernels/loss/loss.h>

#include <limits>

namespace adj::kernels::cuda {

namespace {

/// Labels of rows and weights of labels.
template <class W>
struct Labels {
  const int32_t* label;
  const W* weight;  // null: 1
  int64_t classes, ignored;
  Fault outside;

  __device__ bool valid(int32_t truth) const { return truth >= 0 && truth < classes; }
  /// 0 if the label is ignored, NaN if it is out of range.
  __device__ W weight_of(int32_t truth) const {
    if (truth == ignored) return W{0};
    if (!valid(truth)) return std::numeric_limits<W>::quiet_NaN();
    return weight != nullptr ? weight[truth] : W{1};
  }
};

template <class W, class Args>
Labels<W> labels_of(const Args& args) {
  return {args.label.template data<int32_t>(), data_or_null<W>(args.weight), args.x.size(1), args.ignored,
          fault_of(args.x.device().index, "cross_entropy", "label")};
}

template <class W>
struct Weights {
  Selection selection;
  Labels<W> labels;
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

template <class T>
struct Term {
  using W = Accumulator<T>;
  Labels<W> labels;

  __device__ void operator()(const T* x, int64_t width, int64_t row, W largest, W total, double& sum) const {
    // A label or row out of range makes the loss NaN and accesses no memory.
    if (row < 0) {
      sum = std::numeric_limits<double>::quiet_NaN();
      return;
    }
    const int32_t truth = labels.label[row];
    if (truth == labels.ignored) return;
    const bool valid = labels.valid(truth);
    if (!valid) raise(labels.outside, row, truth, labels.classes);
    const W logit = valid ? widen(x[row * width + truth]) : W{0};
    sum += static_cast<double>(labels.weight_of(truth) * (log(total) + (largest - logit)));
  }
};

// dx = (softmax(x) - onehot(label)) w dloss times / total.
template <class T>
struct CrossEntropyBackward {
  Selection selection;
  const int32_t* times;  // number of times each row is selected; null: once
  const T* x;
  int64_t width;
  Labels<Accumulator<T>> labels;
  const Accumulator<T>*total, *dloss;
  T* dx;

  template <int N, int kLanes, int kHeld>
  __device__ void row(int64_t k, int lane) const {
    using W = Accumulator<T>;
    const int64_t row = k < 0 ? k : selection.row(k);
    // Read before the row: few rows fill the GPU, so that each wait for memory shows.
    const int32_t truth = row < 0 ? 0 : labels.label[row];
    const W weights = *total, slope = *dloss;
    const RowView<T, N, kLanes, kHeld> view(x, width, row, lane);
    W largest, sum;
    soft_maximum(view, largest, sum);
    if (row < 0) return;
    const bool nothing = truth == labels.ignored || weights == W{0};
    const W count = static_cast<W>(often(times, row));
    const W share = nothing ? W{0} : labels.weight_of(truth) * (slope / weights) * count;
    const W factor = share / sum;
    view.each([&](int64_t column, Pack<W, N> pack) {
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const W d = exp(pack[j] - largest) * factor - (column + j == truth ? share : W{0});
        pack[j] = nothing ? W{0} : d;
      }
      store_narrow<N>(dx + row * width + column, pack);
    });
  }
};

}  // namespace

void softmax_cross_entropy(const SoftmaxCrossEntropyArgs& args) {
  const Selection selection = selection_of("cross_entropy", args.x, args.index);
  dispatch_features(args.x.dtype(), [&]<class T>() {
    using W = Accumulator<T>;
    const Labels<W> labels = labels_of<W>(args);
    W* total = args.total.mutable_data<W>();
    const bool equal = !args.weight && args.ignored == kNothingIgnored;
    if (!equal)
      flat_sum<double>("softmax_cross_entropy", args.x.device().index, selection.count,
                       Weights<W>{selection, labels}, StoreSum<W>{total});
    sum_row_terms<T>(
        "softmax_cross_entropy", selection, args.x, Term<T>{labels},
        StoreMean<W>{equal ? static_cast<double>(selection.count) : 0.0, total, args.loss.mutable_data<W>()});
  });
}

void softmax_cross_entropy_backward(const SoftmaxCrossEntropyBackwardArgs& args) {
  constexpr const char* kName = "softmax_cross_entropy_backward";
  const Selection selection = selection_of(kName, args.x, args.index);
  dispatch_features(args.x.dtype(), [&]<class T>() {
    using W = Accumulator<T>;
    Tensor& dx = args.dx;
    const Tensor times = begin_gradient<T>(kName, selection, dx);
    const CrossEntropyBackward<T> body{
        selection,          counts_of(times),     args.x.data<T>(),     args.x.size(1),
        labels_of<W>(args), args.total.data<W>(), args.dloss.data<W>(), dx.mutable_data<T>()};
    map_rows<T>(kName, dx.device().index, selection.count, args.x.size(1), aligned_to_16(body.x, body.dx),
                body);
  });
}

}  // namespace adj::kernels::cuda
