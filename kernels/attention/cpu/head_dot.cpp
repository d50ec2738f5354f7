// Dot products of a node's heads with one or two vectors per head, in one pass. Bytes: x once, and H numbers
// per node.

#include <adjoint/kernels/attention/cpu/head_rows.h>
#include <adjoint/kernels/attention/head_dot.h>
#include <adjoint/kernels/cpu/column_sums.h>
#include <adjoint/kernels/reduce/reduce.h>

namespace adj::kernels::cpu {

namespace {

/// Nodes per block, which stay in L1 for the second vector.
constexpr int64_t kNodes = 32;

}  // namespace

void head_dot(const HeadDotArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Scalar<S>;
    const HeadRows<S> g(args.a.size(0), args.a.size(1));
    const S *x = args.x.data<S>(), *a = args.a.data<S>();
    const S* a2 = args.a2 ? args.a2.data<S>() : nullptr;
    T* y = args.y.mutable_data<T>();
    T* y2 = args.y2 ? args.y2.mutable_data<T>() : nullptr;
    parallel_for(args.x.size(0), ceil_div(row_grain(g.pitch), kNodes) * kNodes,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; i += kNodes) {
                     const int64_t count = std::min(kNodes, end - i);
                     const ConsecutiveRows<S> rows{x + i * g.pitch, g.pitch};
                     g.dots(count, rows, DotWith<S>{a}, y + i * g.heads);
                     if (a2 != nullptr) g.dots(count, rows, DotWith<S>{a2}, y2 + i * g.heads);
                   }
                 });
  });
}

void head_dot_backward(const HeadDotBackwardArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Scalar<S>;
    const HeadRows<S> g(args.a.size(0), args.a.size(1));
    const int64_t nodes = args.x.size(0), heads = g.heads, pitch = g.pitch;
    const S *x = args.x.data<S>(), *a = args.a.data<S>();
    const T* dy = args.dy.data<T>();
    const S* a2 = args.a2 ? args.a2.data<S>() : nullptr;
    const T* dy2 = args.dy2 ? args.dy2.data<T>() : nullptr;
    if (args.dx) {
      S* dx = args.dx.mutable_data<S>();
      parallel_for(nodes, row_grain(pitch), [&](int64_t begin, int64_t end) {
        // A padded copy of a node's numbers, with room for a vector beyond the last.
        std::vector<T> padded(static_cast<size_t>(heads + g.kLane)), padded2(padded);
        for (int64_t i = begin; i < end; ++i) {
          std::copy_n(dy + i * heads, heads, padded.data());
          if (dy2 != nullptr) std::copy_n(dy2 + i * heads, heads, padded2.data());
          g.each_vector([&](int64_t column, int n, int64_t v) {
            auto sum = g.expanded(padded.data(), v) * simd::load_first(a + column, n);
            if (a2 != nullptr) sum += g.expanded(padded2.data(), v) * simd::load_first(a2 + column, n);
            simd::store_first(dx + i * pitch + column, sum, n);
          });
        }
      });
    }
    const auto sum = [&](const T* weights, Tensor& da) {
      Tensor total = Tensor::empty({pitch}, dtype_of<T>());
      sum_over_row_chunks<T>(nodes, reduction_grain(pitch), pitch, total.mutable_data<T>(),
                             [&](int64_t begin, int64_t end, T* sums) {
                               std::vector<T> padded(static_cast<size_t>(kNodes * heads + g.kLane));
                               for (int64_t i = begin; i < end; i += kNodes) {
                                 const int64_t count = std::min(kNodes, end - i);
                                 std::copy_n(weights + i * heads, count * heads, padded.data());
                                 g.accumulate(count, padded.data(), ConsecutiveRows<S>{x + i * pitch, pitch},
                                              Weighted<S>{}, i == begin, sums);
                               }
                             });
      const T* source = total.data<T>();
      S* output = da.mutable_data<S>();
      for (int64_t f = 0; f < pitch; ++f) output[f] = narrow<S>(source[f]);
    };
    if (args.da) sum(dy, args.da);
    if (args.da2) sum(dy2, args.da2);
    if (args.dbias) sum_rows({.x = args.d_o, .y = args.dbias});
  });
}

}  // namespace adj::kernels::cpu
