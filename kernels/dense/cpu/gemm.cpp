// Dense product as parallel tiles. C is split into blocks of rows. If there are few blocks and the inner
// extent is long, as in a weight gradient (the rows of a whole graph), the inner extent is split too: every
// piece writes partial sums to its own matrix, and these are added in order. They take at most kTiles times
// C, far less than the operands if the inner extent is long.
#include <adjoint/core/convert.h>
#include <adjoint/core/parallel.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/dense/cpu/tile_product.h>
#include <adjoint/kernels/dense/gemm.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/reduce/reduce.h>

#include <algorithm>
#include <optional>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kTileWork = int64_t{1} << 19;  // minimum multiply-adds per task: some 10 µs
constexpr int64_t kTileRows = 256;               // fewer do not pay for packing B per tile
constexpr int64_t kLongTileRows = 512;           // if the inner extent is split
constexpr int64_t kFewTiles = 16;
constexpr int64_t kTiles = 48;  // target if the inner extent is split
constexpr int64_t kMinDepth = 1024;
constexpr int64_t kUnit = 64;   // alignment of tiles
constexpr int64_t kLanes = 16;  // a narrower C costs as much

/// Size of the pieces of `whole` when split into at most `pieces` of about equal size.
int64_t piece_of(int64_t whole, int64_t pieces) {
  return std::min(whole, ceil_div(ceil_div(whole, pieces), kUnit) * kUnit);
}

/// Split of C[m,n] with inner extent k: rows per tile, and its part of the inner extent.
struct Cut {
  int64_t rows, depth;

  Cut(int64_t m, int64_t k, int64_t n) : rows(m), depth(k) {
    const int64_t row_work = k * std::max(n, kLanes);
    const int64_t blocks = ceil_div(m, std::max(kTileRows, ceil_div(kTileWork, row_work)));
    if (blocks >= kFewTiles || k < 2 * kMinDepth) {
      rows = piece_of(m, blocks);
      return;
    }
    const int64_t long_blocks = ceil_div(m, kLongTileRows);
    rows = piece_of(m, long_blocks);
    depth = piece_of(
        k, std::min({ceil_div(kTiles, long_blocks), k / kMinDepth, ceil_div(m * row_work, kTileWork)}));
  }
};

/// The products for the tiles of one split: they differ only if the last row or column of tiles is smaller.
template <class T>
class Products {
 public:
  Products(const TileShape& whole, const Cut& cut) {
    for (bool last_rows : {false, true})
      for (bool last_depth : {false, true}) {
        TileShape shape = whole;
        shape.m = last_rows ? whole.m % cut.rows : cut.rows;
        shape.k = last_depth ? whole.k % cut.depth : cut.depth;
        if (shape.m > 0 && shape.k > 0) products_[last_rows][last_depth].emplace(shape);
      }
  }
  const TileProduct<T>& get(bool last_rows, bool last_depth) const {
    return *products_[last_rows][last_depth];
  }

 private:
  std::optional<TileProduct<T>> products_[2][2];
};

/// c[i] = Σ_p partial[p, i], in order, + bias, with optional relu; i over rows of n.
template <class T>
void merge(const T* partial, int64_t pieces, const TileShape& shape, const T* bias, bool relu, T* c) {
  const int64_t n = shape.n, size = shape.m * n;
  for_rows(shape.m, n * pieces, [=](int64_t i) {
    T* row = c + i * n;
    std::copy_n(partial + i * n, n, row);
    for (int64_t p = 1; p < pieces; ++p) {
      const T* more = partial + p * size + i * n;
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) row[j] += more[j];
    }
    if (bias != nullptr)
      for (int64_t j = 0; j < n; ++j) row[j] += bias[j];
    if (relu) relu_row(row, n);
  });
}

template <class T>
void multiply(const TileShape& whole, const T* a, const T* b, const T* bias, T* c) {
  const Cut cut(whole.m, whole.k, whole.n);
  const int64_t pieces = ceil_div(whole.k, cut.depth), blocks = ceil_div(whole.m, cut.rows);
  TileShape shape = whole;
  Tensor scratch;
  T* result = c;
  if (pieces > 1) {
    scratch = Tensor::empty({pieces, whole.m, whole.n}, dtype_of<T>());
    result = scratch.mutable_data<T>();
    shape.bias = shape.relu = false;
  }
  const Products<T> products(shape, cut);
  parallel_for(blocks * pieces, 1, [&](int64_t tile, int64_t) {
    const int64_t block = tile / pieces, piece = tile % pieces;
    const int64_t row = block * cut.rows, k = piece * cut.depth;
    products.get(row + cut.rows > whole.m, k + cut.depth > whole.k)(
        a + (whole.turned_a ? k * whole.stride_a + row : row * whole.stride_a + k),
        b + (whole.turned_b ? k : k * whole.stride_b), shape.bias ? bias : nullptr,
        result + (piece * whole.m + row) * whole.n);
  });
  if (pieces > 1) merge(result, pieces, whole, bias, whole.relu, c);
}

// bfloat16 operands: float32 products of tiles, widened one by one, so that the large operands (features,
// their gradients) are never fully materialized in float32.

constexpr int64_t kWideTile = int64_t{1} << 20;  // elements of A: 4 MiB when widened

/// Calls f(begin, end) for tiles of A's rows; depends only on A's shape.
template <class F>
void for_tiles(const Tensor& a, F f) {
  const int64_t rows = std::max<int64_t>(64, kWideTile / a.size(1));
  for (int64_t begin = 0; begin < a.size(0); begin += rows) f(begin, std::min(begin + rows, a.size(0)));
}

Tensor to_float32(const Tensor& tensor) { return tensor.to(DType::f32); }

/// Each tile of A gives rows of C.
void by_rows_of_c(const GemmArgs& args) {
  const Tensor b = to_float32(args.b), bias = to_float32(args.bias);
  for_tiles(args.a, [&](int64_t begin, int64_t end) {
    Tensor c = args.c.rows(begin, end), product = Tensor::empty(c.shape());
    gemm({.a = to_float32(args.a.rows(begin, end)),
          .b = b,
          .trans_b = args.trans_b,
          .bias = bias,
          .activation = args.activation,
          .c = product});
    convert(product, c);
  });
}

/// Aᵀ B: each tile of A, with the same rows of B, gives a partial sum of all of C. (Both transposed: one
/// tile.)
void by_shares_of_c(const GemmArgs& args) {
  Tensor sum = Tensor::zeros(args.c.shape()), share = Tensor::empty(args.c.shape());
  const auto add = [&](const Tensor& a, const Tensor& b) {
    gemm({.a = to_float32(a),
          .trans_a = Transpose::yes,
          .b = to_float32(b),
          .trans_b = args.trans_b,
          .c = share});
    linear_combination({.alpha = 1.0, .a = sum, .beta = 1.0, .b = share, .y = sum});
  };
  if (args.trans_b == Transpose::yes) {
    add(args.a, args.b);
  } else {
    for_tiles(args.a,
              [&](int64_t begin, int64_t end) { add(args.a.rows(begin, end), args.b.rows(begin, end)); });
  }
  if (args.bias) add_bias({.x = sum, .bias = to_float32(args.bias), .y = sum});
  if (args.activation != Activation::none) activate({.activation = args.activation, .x = sum, .y = sum});
  convert(sum, args.c);
}

}  // namespace

void gemm(const GemmArgs& args) {
  if (args.c.numel() == 0) return;
  if (args.through_relu) {
    gemm({.a = args.a,
          .trans_a = args.trans_a,
          .b = args.b,
          .trans_b = args.trans_b,
          .bias = args.bias,
          .accumulate = args.accumulate,
          .c = args.c});
    return activate_backward(
        {.activation = Activation::relu, .x = args.through_relu, .dy = args.c, .dx = args.c});
  }
  if (args.accumulate) {
    Tensor product = Tensor::empty(args.c.shape(), args.c.dtype());
    gemm({.a = args.a, .trans_a = args.trans_a, .b = args.b, .trans_b = args.trans_b, .c = product});
    return linear_combination({.alpha = 1.0, .a = args.c, .beta = 1.0, .b = product, .y = args.c});
  }
  if (args.a.numel() == 0) {
    args.c.zero_();
    if (args.bias) add_bias({.x = args.c, .bias = args.bias, .y = args.c});
    if (args.activation != Activation::none)
      activate({.activation = args.activation, .x = args.c, .y = args.c});
    return;
  }
  if (args.c.dtype() == DType::bf16)
    return args.trans_a == Transpose::yes ? by_shares_of_c(args) : by_rows_of_c(args);
  const bool turned_a = args.trans_a == Transpose::yes;
  const TileShape whole{.m = args.c.size(0),
                        .k = args.a.size(turned_a ? 0 : 1),
                        .n = args.c.size(1),
                        .turned_a = turned_a,
                        .turned_b = args.trans_b == Transpose::yes,
                        .stride_a = args.a.size(1),
                        .stride_b = args.b.size(1),
                        .stride_c = args.c.size(1),
                        .bias = bool{args.bias},
                        .relu = args.activation == Activation::relu};
  dispatch_float(args.c.dtype(), "gemm", [&]<class T>() {
    multiply<T>(whole, args.a.data<T>(), args.b.data<T>(), args.bias ? args.bias.data<T>() : nullptr,
                args.c.mutable_data<T>());
  });
}

void weight_gradients(const WeightGradientsArgs& args) {
  gemm({.a = args.x, .trans_a = Transpose::yes, .b = args.dz, .c = args.dw});
  if (args.dbias) sum_rows({.x = args.dz, .y = args.dbias});
}

}  // namespace adj::kernels::cpu
