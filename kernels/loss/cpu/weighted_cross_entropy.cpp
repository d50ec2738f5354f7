#include <adjoint/kernels/cpu/row_tile.h>
#include <adjoint/kernels/loss/cpu/selection.h>
#include <adjoint/kernels/loss/weighted_cross_entropy.h>

namespace adj::kernels::cpu {

namespace {

/// Label and weight of a row.
template <class W>
struct Labels {
  const int32_t* label;
  const W* weight;  // null: 1
  int64_t classes, ignored;

  template <class Args>
  explicit Labels(const Args& args)
      : label(args.label.template data<int32_t>()),
        weight(args.weight ? args.weight.template data<W>() : nullptr),
        classes(args.x.size(1)),
        ignored(args.ignored) {}

  /// 0 if the row is ignored; its label may then be anything.
  W weight_of(int64_t row) const {
    if (label[row] == ignored) return W{0};
    const int32_t c = checked_label("cross_entropy", label, row, classes);
    return weight != nullptr ? weight[c] : W{1};
  }
};

}  // namespace

void weighted_cross_entropy(const WeightedCrossEntropyArgs& args) {
  const Selection selection = checked_selection("cross_entropy", args.x, args.index);
  const int64_t classes = args.x.size(1), grain = row_grain(classes, kCostlyGrain);
  dispatch_features(args.x.dtype(), [&]<class T>() {
    using W = Accumulator<T>;
    const T* in = args.x.data<T>();
    const Labels<W> labels(args);
    const double total = sum_of_chunks(selection.count, grain, [=](int64_t begin, int64_t end) {
      double sum = 0.0;
      for (int64_t k = begin; k < end; ++k) sum += static_cast<double>(labels.weight_of(selection.row(k)));
      return sum;
    });
    ADJ_CHECK(total != 0.0, "cross_entropy: every selected row of {} is ignored or has weight 0",
              args.x.str());
    const double sum = sum_of_chunks(selection.count, grain, [=](int64_t begin, int64_t end) {
      RowTile<W> tile(classes);
      SoftmaxTile<W> softmax;
      double terms = 0.0;
      for_row_tiles(
          begin, end, [=](int64_t k) { return selection.row(k); },
          [&](const auto& row, int64_t count) {
            tile.load(in, row);
            softmax.template run<false>(tile);
            W log_sum[RowTile<W>::kRows];
            softmax.log_totals(log_sum);
            for (int64_t l = 0; l < count; ++l) {
              if (labels.label[row[l]] == labels.ignored) continue;
              const W truth = widen(in[row[l] * classes + labels.label[row[l]]]);
              terms +=
                  static_cast<double>(labels.weight_of(row[l]) * (log_sum[l] + (softmax.largest[l] - truth)));
            }
          });
      return terms;
    });
    *args.total.mutable_data<W>() = static_cast<W>(total);
    *args.loss.mutable_data<W>() = static_cast<W>(sum / total);
  });
}

void weighted_cross_entropy_backward(const WeightedCrossEntropyBackwardArgs& args) {
  const Selection selection = checked_selection("cross_entropy", args.x, args.index);
  const int64_t classes = args.x.size(1);
  dispatch_features(args.x.dtype(), [&]<class T>() {
    using W = Accumulator<T>;
    const T* in = args.x.data<T>();
    T* grad = args.dx.mutable_data<T>();
    const Labels<W> labels(args);
    const W mean = *args.dloss.data<W>() / *args.total.data<W>();
    for_selected_rows(selection, args.x.size(0), classes, grad,
                      [=](int64_t begin, int64_t end, auto row_of, auto often) {
                        RowTile<W> tile(classes);
                        SoftmaxTile<W> softmax;
                        for_row_tiles(begin, end, row_of, [&](const auto& row, int64_t count) {
                          tile.load(in, row);
                          softmax.template run<true>(tile);
                          W share[RowTile<W>::kRows], factor[RowTile<W>::kRows];
                          bool ignored[RowTile<W>::kRows];
                          for (int64_t l = 0; l < RowTile<W>::kRows; ++l) {
                            const W by = static_cast<W>(often(row[l]));
                            share[l] = mean * labels.weight_of(row[l]) * by;
                            ignored[l] = labels.label[row[l]] == labels.ignored;
                            factor[l] = share[l] / softmax.total[l];
                          }
                          tile.map([&](W x, int64_t l) { return ignored[l] ? W{0} : x * factor[l]; });
                          for (int64_t l = 0; l < count; ++l)
                            if (!ignored[l]) tile.at(l, labels.label[row[l]]) -= share[l];
                          tile.store(grad, row, count);
                        });
                      });
  });
}

}  // namespace adj::kernels::cpu
