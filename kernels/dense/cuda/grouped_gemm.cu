// Products of groups of rows by a matrix each, in one launch. A block computes a tile of 64 x 64 of C, of the
// rows of one group, by float32 (or float64) FMAs; it finds its group by a search over the offsets, so a
// group of any size has as many blocks as it needs and nothing is read back. Rows are gathered as they are
// loaded.
//
// Saved: nothing; the gradient of the rows is the same product by the transposed matrices. That of a matrix
// is a sum over rows: a block takes a piece of a group's rows for a tile of 64 x 64 of dW and writes its
// sums, (kGradientPieces + groups) K F numbers at most, which are added in order.
//
// Bytes: A once per 64 columns of C, each group's matrix once per 64 of its rows, C once. Bound: 4 K F / (K +
// F) operations a number, for 64 x 64 the FMAs (33 a number at 67 TFLOP/s, where memory gives 1 per 14).
#include <adjoint/kernels/dense/cuda/gathered_tile.cuh>
#include <adjoint/kernels/dense/grouped_gemm.h>

namespace adj::kernels::cuda {

namespace {

constexpr int64_t kGradientPieces = 256;

template <class S>
struct GroupedProduct {
  const S* x;
  const int32_t *index, *place;  ///< rows of x and c; null: in order
  const S* b;
  const S* bias;  ///< or null
  S* c;
  GroupTiles tiles;
  int64_t blocks, inner, outer, outer_tiles;
  bool wide_x, wide_b, wide_c;
};

template <class S, bool kTurned>
__global__ void __launch_bounds__(kTileThreads)
    grouped_gemm_kernel(const __grid_constant__ GroupedProduct<S> p) {
  begin_overlapping();
  using T = Accumulator<S>;
  __shared__ alignas(16) Part<T> left;
  __shared__ alignas(16) Part<T> right;
  const BlockPlace place(p.blocks * p.outer_tiles);  // neighbours read the same rows
  const GroupTile tile = p.tiles.tile(place.column);
  if (tile.begin >= tile.end) return;
  const int64_t block = place.row / p.outer_tiles, n0 = place.row % p.outer_tiles * kTile;
  const S* const b = p.b + (tile.group * p.blocks + block) * p.inner * p.outer;
  InnerRows<S> rows{.inner = p.inner, .wide = p.wide_x};
  std::conditional_t<kTurned, InnerRows<S>, OuterRows<S>> matrix{};
  matrix.wide = p.wide_b;
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const int64_t row = tile.begin + InnerRows<S>::outer_of(i), n = n0 + InnerRows<S>::outer_of(i);
    rows.row[i] = row < tile.end
                      ? p.x + ((p.index == nullptr ? row : p.index[row]) * p.blocks + block) * p.inner
                      : nullptr;
    if constexpr (kTurned) matrix.row[i] = n < p.outer ? b + n * p.inner : nullptr;
  }
  if constexpr (kTurned)
    matrix.inner = p.inner;
  else
    matrix.outer = p.outer - n0;
  const auto read = [&](int64_t k0) {
    rows.read(k0);
    if constexpr (kTurned)
      matrix.read(k0);
    else
      matrix.read([&](int d) { return k0 + d < p.inner ? b + (k0 + d) * p.outer + n0 : nullptr; });
  };
  TileSums<T> sums;
  read(0);
  for (int64_t k0 = 0; k0 < p.inner; k0 += kDepth) {
    if (k0 > 0) __syncthreads();
    rows.write(left);
    matrix.write(right);
    __syncthreads();
    if (k0 + kDepth < p.inner) read(k0 + kDepth);  // in flight while these are multiplied
    sums.add(left, right);
  }
  const int64_t stride = p.blocks * p.outer, column = block * p.outer + n0;
  sums.write(tile.end - tile.begin, p.outer - n0,
             p.bias == nullptr ? nullptr : p.bias + tile.group * stride + column, p.wide_c, [&](int i) {
               const int64_t row = tile.begin + i;
               return p.c + (p.place == nullptr ? row : p.place[row]) * stride + column;
             });
}

template <class S>
struct GroupedGradient {
  const S* x;
  const int32_t *index, *place;  ///< rows of x and dz; null: in order
  const S* dz;
  Accumulator<S>* partial;  ///< [pieces, blocks, inner, outer]
  GroupTiles pieces;
  int64_t blocks, inner, outer, outer_tiles, tiles;  ///< tiles: of one block's matrix
  bool wide_x, wide_dz, wide_sums;
};

template <class S>
__global__ void __launch_bounds__(kTileThreads)
    grouped_gradient_kernel(const __grid_constant__ GroupedGradient<S> p) {
  begin_overlapping();
  using T = Accumulator<S>;
  __shared__ alignas(16) Part<T> left;
  __shared__ alignas(16) Part<T> right;
  const BlockPlace place(p.blocks * p.tiles);  // neighbours read the same rows
  const GroupTile piece = p.pieces.tile(place.column);
  if (piece.begin >= piece.end) return;
  const int64_t block = place.row / p.tiles, tile = place.row % p.tiles;
  const int64_t m0 = tile / p.outer_tiles * kTile, n0 = tile % p.outer_tiles * kTile;
  OuterRows<S> rows{.outer = p.inner - m0, .wide = p.wide_x},
      gradients{.outer = p.outer - n0, .wide = p.wide_dz};
  const auto read = [&](int64_t first) {
    rows.read([&](int d) -> const S* {
      const int64_t row = first + d;
      if (row >= piece.end) return nullptr;
      return p.x + ((p.index == nullptr ? row : p.index[row]) * p.blocks + block) * p.inner + m0;
    });
    gradients.read([&](int d) -> const S* {
      const int64_t row = first + d;
      if (row >= piece.end) return nullptr;
      return p.dz + ((p.place == nullptr ? row : p.place[row]) * p.blocks + block) * p.outer + n0;
    });
  };
  TileSums<T> sums;
  read(piece.begin);
  for (int64_t row = piece.begin; row < piece.end; row += kDepth) {
    if (row > piece.begin) __syncthreads();
    rows.write(left);
    gradients.write(right);
    __syncthreads();
    if (row + kDepth < piece.end) read(row + kDepth);
    sums.add(left, right);
  }
  T* const output = p.partial + (place.column * p.blocks + block) * p.inner * p.outer;
  sums.write(p.inner - m0, p.outer - n0, static_cast<const T*>(nullptr), p.wide_sums,
             [&](int i) { return output + (m0 + i) * p.outer + n0; });
}

/// A number of dW: the sums of its group's pieces, in order.
template <class S>
struct PieceSums {
  const Accumulator<S>* partial;
  GroupTiles pieces;
  int64_t blocks, size;
  S* dw;

  __device__ void operator()(int64_t i) const {
    const int64_t matrix = i / size, group = matrix / blocks;
    const int64_t rows = pieces.offsets[group + 1] - pieces.offsets[group];
    const Accumulator<S>* part = partial + (pieces.first(group) * blocks + matrix % blocks) * size + i % size;
    Accumulator<S> sum = 0;
#pragma unroll 8
    for (int64_t begin = 0; begin < rows; begin += pieces.size(), part += blocks * size) sum += *part;
    dw[i] = narrow<S>(sum);
  }
};

/// Whether rows of `width` numbers from `tensor` on may be read four at a time.
bool reads_four(const Tensor& tensor, int64_t width) {
  return width % 4 == 0 && aligned_to_16(tensor.raw_data());
}

}  // namespace

void grouped_gemm(const GroupedGemmArgs& args) {
  if (args.c.numel() == 0) return;
  const int device = args.c.device().index;
  dispatch_features(args.c.dtype(), [&]<class S>() {
    const int64_t inner = args.inner(), outer = args.outer();
    const bool turned = args.trans_b == Transpose::yes;
    const GroupedProduct<S> p{.x = args.x.data<S>(),
                              .index = data_or_null<int32_t>(args.index),
                              .place = data_or_null<int32_t>(args.place),
                              .b = args.b.data<S>(),
                              .bias = data_or_null<S>(args.bias),
                              .c = args.c.mutable_data<S>(),
                              .tiles = {args.offsets.data<int64_t>(), args.groups(), kTileShift},
                              .blocks = args.blocks(),
                              .inner = inner,
                              .outer = outer,
                              .outer_tiles = ceil_div(outer, int64_t{kTile}),
                              .wide_x = reads_four(args.x, inner),
                              .wide_b = reads_four(args.b, turned ? inner : outer),
                              .wide_c = reads_four(args.c, outer)};
    const auto tiles = p.tiles.count(args.c.size(0));
    launch("grouped_gemm", overlapping(device, grid(tiles * p.outer_tiles * p.blocks), kTileThreads),
           turned ? grouped_gemm_kernel<S, true> : grouped_gemm_kernel<S, false>, p);
  });
}

void grouped_weight_gradient(const GroupedWeightGradientArgs& args) {
  const int64_t rows = args.dz.size(0), inner = args.dw.size(1), outer = args.dw.size(2);
  const int device = args.dw.device().index;
  const GroupTiles pieces{args.offsets.data<int64_t>(), args.groups(),
                          shift_of(4 * kTile, args.piece_rows(), kGradientPieces)};
  const int64_t count = pieces.count(rows), blocks = args.blocks();
  Tensor partial =
      Tensor::empty({count, blocks * inner * outer}, accumulator_dtype(args.dw.dtype()), args.dw.device());
  dispatch_features(args.dw.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const int64_t outer_tiles = ceil_div(outer, int64_t{kTile}),
                  tiles = ceil_div(inner, int64_t{kTile}) * outer_tiles;
    const GroupedGradient<S> p{.x = args.x.data<S>(),
                               .index = data_or_null<int32_t>(args.index),
                               .place = data_or_null<int32_t>(args.place),
                               .dz = args.dz.data<S>(),
                               .partial = partial.mutable_data<T>(),
                               .pieces = pieces,
                               .blocks = blocks,
                               .inner = inner,
                               .outer = outer,
                               .outer_tiles = outer_tiles,
                               .tiles = tiles,
                               .wide_x = reads_four(args.x, inner),
                               .wide_dz = reads_four(args.dz, outer),
                               .wide_sums = reads_four(partial, outer)};
    if (rows > 0)
      launch("grouped_weight_gradient", overlapping(device, grid(count * tiles * blocks), kTileThreads),
             grouped_gradient_kernel<S>, p);
    for_each("grouped_weight_gradient", device, args.dw.numel(),
             PieceSums<S>{p.partial, pieces, blocks, inner * outer, args.dw.mutable_data<S>()});
  });
}

}  // namespace adj::kernels::cuda
