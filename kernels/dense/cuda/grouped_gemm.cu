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
#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/dense/grouped_gemm.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kTileShift = 6, kTile = 1 << kTileShift, kDepth = 16, kThreads = 128;
constexpr int kRowsPerThread = 8, kColumnsPerThread = 4;  // of a tile
constexpr int kPacks = kTile * kDepth / 4 / kThreads;     // of four numbers, per thread and operand
constexpr int kPitch = kTile + 4;                         // keeps rows aligned to 16 bytes
constexpr int64_t kGradientPieces = 256;
static_assert(kTile / kRowsPerThread * (kTile / kColumnsPerThread) == kThreads);

template <class T>
using Part = T[kDepth][kPitch];

/// Four numbers, zeros from `valid` on. `wide`: may be read together.
template <class S>
__device__ __forceinline__ Pack<Accumulator<S>, 4> load_four(const S* address, int64_t valid, bool wide) {
  if (wide && valid >= 4) return load_wide<4>(address);
  Pack<Accumulator<S>, 4> pack;
#pragma unroll
  for (int i = 0; i < 4; ++i) pack[i] = i < valid ? widen(address[i]) : Accumulator<S>{0};
  return pack;
}

/// A chunk of an operand on its way to shared memory, kTile long along its outer extent and kDepth along the
/// inner one. Rows in memory run along the inner extent...
template <class S>
struct InnerRows {
  const S* row[kPacks];  ///< of this thread's packs; null beyond the last
  int64_t inner;
  bool wide;
  Pack<Accumulator<S>, 4> pack[kPacks];

  static __device__ int outer_of(int i) { return (static_cast<int>(threadIdx.x) + i * kThreads) / 4; }
  static __device__ int depth_of() { return static_cast<int>(threadIdx.x) % 4 * 4; }
  __device__ void read(int64_t k0) {
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      const int64_t k = k0 + depth_of();
      pack[i] = load_four(row[i] + k, row[i] == nullptr ? 0 : inner - k, wide);
    }
  }
  __device__ void write(Part<Accumulator<S>>& part) const {
#pragma unroll
    for (int i = 0; i < kPacks; ++i)
#pragma unroll
      for (int d = 0; d < 4; ++d) part[depth_of() + d][outer_of(i)] = pack[i][d];
  }
};

/// ...or along the outer one: row d is at address(d), null beyond the last, of which `outer` numbers count.
template <class S>
struct OuterRows {
  int64_t outer;
  bool wide;
  Pack<Accumulator<S>, 4> pack[kPacks];

  static __device__ int depth_of(int i) {
    return (static_cast<int>(threadIdx.x) + i * kThreads) / (kTile / 4);
  }
  static __device__ int outer_of() { return static_cast<int>(threadIdx.x) % (kTile / 4) * 4; }
  template <class Address>
  __device__ void read(const Address& address) {
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      const S* const row = address(depth_of(i));
      pack[i] = load_four(row + outer_of(), row == nullptr ? 0 : outer - outer_of(), wide);
    }
  }
  __device__ void write(Part<Accumulator<S>>& part) const {
#pragma unroll
    for (int i = 0; i < kPacks; ++i) store(&part[depth_of(i)][outer_of()], pack[i]);
  }
};

/// A thread's sums: rows from `row` on, columns from `column` on of its tile.
template <class T>
struct TileSums {
  T sum[kRowsPerThread][kColumnsPerThread] = {};

  static __device__ int row() {
    return static_cast<int>(threadIdx.x) / (kTile / kColumnsPerThread) * kRowsPerThread;
  }
  static __device__ int column() {
    return static_cast<int>(threadIdx.x) % (kTile / kColumnsPerThread) * kColumnsPerThread;
  }
  __device__ void add(const Part<T>& left, const Part<T>& right) {
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const Pack<T, 4> upper = load<4>(&left[d][row()]), lower = load<4>(&left[d][row() + 4]),
                       b = load<4>(&right[d][column()]);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < kColumnsPerThread; ++j) {
          sum[i][j] = fma(upper[i], b[j], sum[i][j]);
          sum[i + 4][j] = fma(lower[i], b[j], sum[i + 4][j]);
        }
    }
  }
  /// To rows [0, rows) and columns [0, columns) of `c`, with `bias` of the columns or null.
  template <class S>
  __device__ void write(S* c, int64_t stride, int64_t rows, int64_t columns, const S* bias, bool wide) const {
#pragma unroll
    for (int i = 0; i < kRowsPerThread; ++i) {
      if (row() + i >= rows) return;
      S* const address = c + (row() + i) * stride + column();
      Pack<T, 4> pack;
#pragma unroll
      for (int j = 0; j < kColumnsPerThread; ++j)
        pack[j] = sum[i][j] + (bias != nullptr && column() + j < columns ? widen(bias[column() + j]) : T{0});
      if (wide && column() + kColumnsPerThread <= columns) {
        store_narrow<4>(address, pack);
      } else {
#pragma unroll
        for (int j = 0; j < kColumnsPerThread; ++j)
          if (column() + j < columns) address[j] = narrow<S>(pack[j]);
      }
    }
  }
};

template <class S>
struct GroupedProduct {
  const S* x;
  const int32_t* index;  ///< null: rows in order
  const S* b;
  const S* bias;  ///< or null
  S* c;
  GroupTiles tiles;
  int64_t blocks, inner, outer, outer_tiles;
  bool wide_x, wide_b, wide_c;
};

template <class S, bool kTurned>
__global__ void __launch_bounds__(kThreads) grouped_gemm_kernel(const __grid_constant__ GroupedProduct<S> p) {
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
  sums.write(p.c + tile.begin * stride + column, stride, tile.end - tile.begin, p.outer - n0,
             p.bias == nullptr ? nullptr : p.bias + tile.group * stride + column, p.wide_c);
}

template <class S>
struct GroupedGradient {
  const S* x;
  const int32_t* index;  ///< null: rows in order
  const S* dz;
  Accumulator<S>* partial;  ///< [pieces, blocks, inner, outer]
  GroupTiles pieces;
  int64_t blocks, inner, outer, outer_tiles, tiles;  ///< tiles: of one block's matrix
  bool wide_x, wide_dz, wide_sums;
};

template <class S>
__global__ void __launch_bounds__(kThreads)
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
      return row < piece.end ? p.dz + (row * p.blocks + block) * p.outer + n0 : nullptr;
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
  sums.write(output + m0 * p.outer + n0, p.outer, p.inner - m0, p.outer - n0, static_cast<const T*>(nullptr),
             p.wide_sums);
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
    launch("grouped_gemm", overlapping(device, grid(tiles * p.outer_tiles * p.blocks), kThreads),
           turned ? grouped_gemm_kernel<S, true> : grouped_gemm_kernel<S, false>, p);
  });
}

void grouped_weight_gradient(const GroupedWeightGradientArgs& args) {
  const int64_t rows = args.dz.size(0), inner = args.dw.size(1), outer = args.dw.size(2);
  const int device = args.dw.device().index;
  const GroupTiles pieces{args.offsets.data<int64_t>(), args.groups(),
                          shift_of(4 * kTile, rows, kGradientPieces)};
  const int64_t count = pieces.count(rows), blocks = args.blocks();
  Tensor partial =
      Tensor::empty({count, blocks * inner * outer}, accumulator_dtype(args.dw.dtype()), args.dw.device());
  dispatch_features(args.dw.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const int64_t outer_tiles = ceil_div(outer, int64_t{kTile}),
                  tiles = ceil_div(inner, int64_t{kTile}) * outer_tiles;
    const GroupedGradient<S> p{.x = args.x.data<S>(),
                               .index = data_or_null<int32_t>(args.index),
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
      launch("grouped_weight_gradient", overlapping(device, grid(count * tiles * blocks), kThreads),
             grouped_gradient_kernel<S>, p);
    for_each("grouped_weight_gradient", device, args.dw.numel(),
             PieceSums<S>{p.partial, pieces, blocks, inner * outer, args.dw.mutable_data<S>()});
  });
}

}  // namespace adj::kernels::cuda
