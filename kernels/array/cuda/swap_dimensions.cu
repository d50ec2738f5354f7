// Reads x once and writes y once: matrices by tiles in shared memory, so that both are coalesced; with inner
// elements, or a dimension between the two, by one thread per element of y.
#include <adjoint/kernels/array/swap_dimensions.h>
#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/words.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kTile = 32, kTileRows = 8;

template <class Word>
__global__ void __launch_bounds__(kTile* kTileRows)
    swap_tiles(int64_t rows, int64_t columns, int64_t row_tiles, int64_t tiles, const Word* x, Word* y) {
  begin_overlapping();
  __shared__ Word tile[kTile][kTile + 1];
  const int64_t matrix = blockIdx.x / tiles, place = blockIdx.x % tiles;
  const int64_t row = place % row_tiles * kTile, column = place / row_tiles * kTile;
  x += matrix * rows * columns;
  y += matrix * rows * columns;
  for (int k = threadIdx.y; k < kTile; k += kTileRows)
    if (row + k < rows && column + threadIdx.x < columns)
      tile[k][threadIdx.x] = x[(row + k) * columns + column + threadIdx.x];
  __syncthreads();
  for (int k = threadIdx.y; k < kTile; k += kTileRows)
    if (column + k < columns && row + threadIdx.x < rows)
      y[(column + k) * rows + row + threadIdx.x] = tile[threadIdx.x][k];
}

template <class Index, class Word>
struct Move {
  Index rows, middle, columns, inner;
  const Word* x;
  Word* y;

  __device__ void operator()(Index i) const {
    const Index in = i % inner, a = i / inner % rows, m = i / inner / rows % middle,
                b = i / inner / rows / middle % columns, o = i / inner / rows / middle / columns;
    y[i] = x[(((static_cast<int64_t>(o) * rows + a) * middle + m) * columns + b) * inner + in];
  }
};

}  // namespace

void swap_dimensions(const SwapDimensionsArgs& args) {
  const auto [outer, rows, middle, columns, inner] = args.extents;
  if (args.x.numel() == 0) return;
  const int device = args.x.device().index;
  const int64_t row_tiles = ceil_div(rows, int64_t{kTile}),
                tiles = row_tiles * ceil_div(columns, int64_t{kTile});
  detail::dispatch_word(args.x.dtype(), [&, outer = outer, rows = rows, middle = middle, columns = columns,
                                         inner = inner]<class Word>() {
    const auto* x = static_cast<const Word*>(args.x.raw_data());
    auto* y = static_cast<Word*>(args.y.raw_mutable_data());
    if (middle == 1 && inner == 1 && outer * tiles < int64_t{1} << 31) {
      launch("swap_dimensions", overlapping(device, grid(outer * tiles), dim3(kTile, kTileRows)),
             swap_tiles<Word>, rows, columns, row_tiles, tiles, x, y);
      return;
    }
    for_each_narrow("swap_dimensions", device, args.x.numel(), [&]<class Index>() {
      return Move<Index, Word>{static_cast<Index>(rows),
                               static_cast<Index>(middle),
                               static_cast<Index>(columns),
                               static_cast<Index>(inner),
                               x,
                               y};
    });
  });
}

}  // namespace adj::kernels::cuda
