#include <adjoint/kernels/cpu/row_tile.h>
#include <adjoint/kernels/loss/cpu/selection.h>
#include <adjoint/kernels/loss/loss.h>

namespace adj::kernels::cpu {

namespace {

/// The selected rows with their labels and weights.
template <class S>
struct LabeledRows {
  using T = Accumulator<S>;
  std::string_view op;
  Selection selection;
  const S* x;
  const int32_t* label;
  const T* weight;  // null: 1
  int64_t rows, classes, ignored;

  template <class Args>
  LabeledRows(std::string_view name, const Args& args)
      : op(name),
        selection(checked_selection(name, args.x, args.index)),
        x(args.x.template data<S>()),
        label(args.label.template data<int32_t>()),
        weight(args.weight ? args.weight.template data<T>() : nullptr),
        rows(args.x.size(0)),
        classes(args.x.size(1)),
        ignored(args.ignored) {}

  bool is_ignored(int64_t row) const { return label[row] == ignored; }
  /// 0 if the row is ignored; its label may then be anything.
  T weight_of(int64_t row) const {
    if (is_ignored(row)) return T{0};
    const int32_t c = checked_label(op, label, row, classes);
    return weight != nullptr ? weight[c] : T{1};
  }
  /// Σ of f(begin, end) over chunks of the selected rows.
  template <class F>
  double sum(F&& f) const {
    return sum_of_chunks(selection.count, row_grain(classes, kCostlyGrain), f);
  }

  double total_weight() const {
    if (weight == nullptr && ignored == kNothingIgnored) return static_cast<double>(selection.count);
    return sum([&](int64_t begin, int64_t end) {
      double weights = 0.0;
      for (int64_t k = begin; k < end; ++k) weights += static_cast<double>(weight_of(selection.row(k)));
      return weights;
    });
  }
  double weighted_losses() const {
    const auto row_of = [&](int64_t k) { return selection.row(k); };
    return sum([&](int64_t begin, int64_t end) {
      RowTile<T> tile(classes);
      SoftmaxTile<T> softmax;
      double losses = 0.0;
      for_row_tiles(begin, end, row_of, [&](const auto& row, int64_t count) {
        tile.load(x, row);
        softmax.template run<false>(tile);
        T log_sum[RowTile<T>::kRows];
        softmax.log_totals(log_sum);
        for (int64_t l = 0; l < count; ++l) {
          if (is_ignored(row[l])) continue;
          const T row_weight = weight_of(row[l]), truth = tile.at(l, label[row[l]]);
          losses += static_cast<double>(row_weight * (log_sum[l] + (softmax.largest[l] - truth)));
        }
      });
      return losses;
    });
  }
  /// dx, for a row of weight 1 that is selected once `mean` (softmax - one-hot).
  void gradient(T mean, S* dx) const {
    for_selected_rows(selection, rows, classes, dx,
                      [=, this](int64_t begin, int64_t end, auto row_of, auto often) {
                        RowTile<T> tile(classes);
                        SoftmaxTile<T> softmax;
                        for_row_tiles(begin, end, row_of, [&](const auto& row, int64_t count) {
                          tile.load(x, row);
                          softmax.template run<true>(tile);
                          T share[RowTile<T>::kRows], factor[RowTile<T>::kRows];
                          for (int64_t l = 0; l < RowTile<T>::kRows; ++l)
                            share[l] = mean * weight_of(row[l]) * static_cast<T>(often(row[l]));
#pragma omp simd
                          for (int64_t l = 0; l < RowTile<T>::kRows; ++l)
                            factor[l] = share[l] / softmax.total[l];
                          tile.map([&](T e, int64_t l) { return e * factor[l]; });
                          for (int64_t l = 0; l < count; ++l) {
                            if (!is_ignored(row[l])) {
                              tile.at(l, label[row[l]]) -= share[l];
                            } else {
                              for (int64_t c = 0; c < classes; ++c) tile.at(l, c) = T{0};  // also for NaN
                            }
                          }
                          tile.store(dx, row, count);
                        });
                      });
  }
};

}  // namespace

void softmax_cross_entropy(const SoftmaxCrossEntropyArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const LabeledRows<S> rows("cross_entropy", args);
    const double total = rows.total_weight();
    *args.total.mutable_data<T>() = static_cast<T>(total);
    *args.loss.mutable_data<T>() = total == 0.0 ? T{0} : static_cast<T>(rows.weighted_losses() / total);
  });
}

void softmax_cross_entropy_backward(const SoftmaxCrossEntropyBackwardArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    LabeledRows<S>("softmax_cross_entropy_backward", args)
        .gradient(*args.total.data<T>() == T{0} ? T{0} : *args.dloss.data<T>() / *args.total.data<T>(),
                  args.dx.mutable_data<S>());
  });
}

}  // namespace adj::kernels::cpu
