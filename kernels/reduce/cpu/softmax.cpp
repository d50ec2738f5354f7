#include <adjoint/kernels/cpu/row_tile.h>
#include <adjoint/kernels/reduce/softmax.h>

#include <functional>

namespace adj::kernels::cpu {

void softmax(const SoftmaxArgs& args) {
  const int64_t width = args.x.size(1);
  dispatch_features(args.x.dtype(), [&]<class T>() {
    using W = Accumulator<T>;
    constexpr int64_t kRows = RowTile<W>::kRows;
    const T* in = args.x.data<T>();
    T* out = args.y.mutable_data<T>();
    parallel_for(args.x.size(0), row_grain(width, kCostlyGrain),
                 [=, log = args.log](int64_t begin, int64_t end) {
                   RowTile<W> tile(width);
                   SoftmaxTile<W> sums;
                   for_row_tiles(begin, end, std::identity(), [&](const auto& row, int64_t count) {
                     tile.load(in, row);
                     W terms[kRows];
                     if (log) {
                       sums.template run<false>(tile);
                       sums.log_totals(terms);
                       tile.map([&](W x, int64_t l) { return (x - sums.largest[l]) - terms[l]; });
                     } else {
                       sums.template run<true>(tile);
#pragma omp simd
                       for (int64_t l = 0; l < kRows; ++l) terms[l] = W{1} / sums.total[l];
                       tile.map([&](W x, int64_t l) { return x * terms[l]; });
                     }
                     tile.store(out, row, count);
                   });
                 });
  });
}

void softmax_backward(const SoftmaxBackwardArgs& args) {
  const int64_t width = args.y.size(1);
  dispatch_features(args.y.dtype(), [&]<class T>() {
    using W = Accumulator<T>;
    constexpr int64_t kRows = RowTile<W>::kRows;
    const T *out = args.y.data<T>(), *grad = args.dy.data<T>();
    T* dx = args.dx.mutable_data<T>();
    parallel_for(args.y.size(0), row_grain(width, kCostlyGrain),
                 [=, log = args.log](int64_t begin, int64_t end) {
                   RowTile<W> y(width), d(width);
                   for_row_tiles(begin, end, std::identity(), [&](const auto& row, int64_t count) {
                     y.load(out, row);
                     d.load(grad, row);
                     W sum[kRows] = {};
                     for (int64_t c = 0; c < width; ++c) {
                       const W *p = y.column(c), *g = d.column(c);
#pragma omp simd
                       for (int64_t l = 0; l < kRows; ++l) sum[l] += log ? g[l] : g[l] * p[l];
                     }
                     for (int64_t c = 0; c < width; ++c) {
                       const W* p = y.column(c);
                       W* g = d.column(c);
                       if (log) {
#pragma omp simd
                         for (int64_t l = 0; l < kRows; ++l) g[l] -= fast_exp(p[l]) * sum[l];
                       } else {
#pragma omp simd
                         for (int64_t l = 0; l < kRows; ++l) g[l] = p[l] * (g[l] - sum[l]);
                       }
                     }
                     d.store(dx, row, count);
                   });
                 });
  });
}

}  // namespace adj::kernels::cpu
