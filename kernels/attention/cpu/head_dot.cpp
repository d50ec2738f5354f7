// Dot products of a node's heads with one or two vectors per head, in one pass. Bytes: x once, and H numbers
// per node.
#include <adjoint/core/parallel.h>
#include <adjoint/kernels/attention/cpu/head_rows.h>
#include <adjoint/kernels/attention/head_dot.h>
#include <adjoint/kernels/cpu/column_sums.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/dense/cpu/tile_product.h>
#include <adjoint/kernels/reduce/reduce.h>

namespace adj::kernels::cpu {

namespace {

/// Nodes per block, which stay in L1 for the second vector.
constexpr int64_t kNodes = 32;

// Tiles of rows, with a small dense product per head.

constexpr int64_t kTileWork = int64_t{1} << 19;  // multiply-adds per tile, some 10 µs
constexpr int64_t kTileRows = 256;               // at least

template <class S>
void multiply(const HeadProductArgs& args) {
  using T = Accumulator<S>;
  const Tensor weight = args.weight.to(dtype_of<T>());
  const int64_t rows = args.x.size(0), heads = args.heads, pitch = weight.size(1), width = pitch / heads;
  const int64_t in = args.x.size(1), out = args.y.size(1);
  const auto product_of = [&](int64_t m) {
    return TileProduct<T>({.m = m,
                           .k = in / heads,
                           .n = out / heads,
                           .turned_a = false,
                           .turned_b = args.turned,
                           .stride_a = in,
                           .stride_b = pitch,
                           .stride_c = out,
                           .bias = false,
                           .relu = false});
  };
  const int64_t tile = std::min(rows, std::max(kTileRows, kTileWork / (in / heads * out))),
                last = (rows - 1) % tile + 1;
  const TileProduct<T> product = product_of(tile), last_product = product_of(last);
  const T* w = weight.data<T>();
  const S* x = args.x.data<S>();
  S* y = args.y.mutable_data<S>();
  const bool accumulate = args.accumulate;
  parallel_for(ceil_div(rows, tile), 1, [&](int64_t begin, int64_t end) {
    std::vector<T> widened, buffer;
    for (int64_t t = begin; t < end; ++t) {
      const int64_t first = t * tile, count = std::min(tile, rows - first);
      const T* source;
      T* result;
      if constexpr (std::is_same_v<S, T>) {
        source = x + first * in;
        result = y + first * out;
      } else {
        widened.resize(static_cast<size_t>(tile * in));
        for (int64_t i = 0; i < count * in; ++i) widened[static_cast<size_t>(i)] = widen(x[first * in + i]);
        source = widened.data();
        result = nullptr;
      }
      if (accumulate || result == nullptr) {
        buffer.resize(static_cast<size_t>(tile * out));
        result = buffer.data();
      }
      for (int64_t h = 0; h < heads; ++h)
        (count == tile ? product : last_product)(source + h * (in / heads), w + h * width, nullptr,
                                                 result + h * (out / heads));
      if (result != buffer.data()) continue;
      S* const destination = y + first * out;
      for (int64_t i = 0; i < count * out; ++i)
        destination[i] = narrow<S>(accumulate ? widen(destination[i]) + result[i] : result[i]);
    }
  });
}

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

void head_product(const HeadProductArgs& args) {
  if (args.y.numel() == 0) return;
  if (args.x.numel() == 0) {
    if (!args.accumulate) args.y.zero_();
    return;
  }
  dispatch_features(args.x.dtype(), [&]<class S>() { multiply<S>(args); });
}

void diagonal_blocks(const DiagonalBlocksArgs& args) {
  const int64_t features = args.weight.size(0), pitch = args.weight.size(1), width = pitch / args.heads;
  dispatch_features(args.weight.dtype(), [&]<class S>() {
    const S* source = args.product.data<S>();
    S* destination = args.weight.mutable_data<S>();
    for (int64_t e = 0; e < features; ++e)
      for (int64_t h = 0; h < args.heads; ++h)
        std::copy_n(source + (h * features + e) * pitch + h * width, width,
                    destination + e * pitch + h * width);
  });
}

}  // namespace adj::kernels::cpu
