// Bytes: per edge a row of winners, one of gradients and one of features, most of which belong to other
// edges.

#include <adjoint/kernels/aggregate/minmax_weights.h>
#include <adjoint/kernels/cpu/loops.h>

namespace adj::kernels::cpu {

void minmax_weight_gradient(const MinmaxWeightGradientArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const int64_t width = args.x.size(1);
    const int32_t *row = args.a.row.data<int32_t>(), *col = args.a.col.data<int32_t>();
    const int32_t* winner = args.winner.data<int32_t>();
    const S *dy = args.dy.data<S>(), *x = args.x.data<S>();
    T* dw = args.dw.mutable_data<T>();
    for_rows(args.a.entries(), width, [=](int64_t e) {
      const int32_t* won = winner + row[e] * width;
      const S *dy_row = dy + row[e] * width, *x_row = x + col[e] * width;
      const auto mine = static_cast<int32_t>(e);
      dw[e] = sum_of<T>(
          width, [=](int64_t f) { return won[f] == mine ? widen(dy_row[f]) * widen(x_row[f]) : T{0}; });
    });
  });
}

}  // namespace adj::kernels::cpu
