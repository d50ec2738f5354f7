// Tiles of rows, with a small dense product per head.

#include <adjoint/core/parallel.h>
#include <adjoint/kernels/attention/head_product.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/dense/cpu/tile_product.h>

namespace adj::kernels::cpu {

namespace {

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
