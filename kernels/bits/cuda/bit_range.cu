// Minmax ranges. A block reduces some rows by some columns and merges by integer atomics, whose order does
// not matter: bits of floats of one sign ascend with their absolute value, and as 0 is in every range, the
// maximum and the negated minimum are non-negative.
//
// Bytes: x once.

#include <adjoint/kernels/bits/bit_range.h>
#include <adjoint/kernels/cuda/launch.cuh>

#include <algorithm>

namespace adj::kernels::cuda {

namespace {

constexpr int kLanes = 32, kRows = 8;  // per block

/// [outer or 1], zeroed beforehand: bits of the maximum and of the negated minimum.
struct MinMax {
  unsigned *largest, *negated;
};

/// x [rows, cols]; `ranges` has one range per row, per column, or one for all.
__global__ void __launch_bounds__(kLanes* kRows)
    find_minmax(const float* x, int64_t rows, int64_t cols, bool by_row, bool by_column, MinMax ranges) {
  begin_overlapping();
  __shared__ unsigned found[2][kRows][kLanes];
  const int64_t column = int64_t{blockIdx.x} * kLanes + threadIdx.x,
                first = int64_t{blockIdx.y} * kRows + threadIdx.y;
  const int64_t step = int64_t{gridDim.y} * kRows;
  unsigned largest = 0, negated = 0;
  const auto look = [&](float value) {
    const unsigned bits = __float_as_uint(value), size = bits & 0x7fffffffu;
    if (size >= 0x7f800000u) return;
    if (bits == size)
      largest = max(largest, size);
    else
      negated = max(negated, size);
  };
  if (by_row) {
    // All of a row by its lanes of the block.
    for (int64_t row = first; row < rows; row += step) {
      largest = negated = 0;
      for (int64_t c = threadIdx.x; c < cols; c += kLanes) look(x[row * cols + c]);
      largest = __reduce_max_sync(0xffffffffu, largest);
      negated = __reduce_max_sync(0xffffffffu, negated);
      if (threadIdx.x == 0) ranges.largest[row] = largest, ranges.negated[row] = negated;
    }
    return;
  }
  if (column < cols)
    for (int64_t row = first; row < rows; row += step) look(x[row * cols + column]);
  found[0][threadIdx.y][threadIdx.x] = largest;
  found[1][threadIdx.y][threadIdx.x] = negated;
  __syncthreads();
  if (threadIdx.y != 0) return;
  for (int y = 1; y < kRows; ++y) {
    largest = max(largest, found[0][y][threadIdx.x]);
    negated = max(negated, found[1][y][threadIdx.x]);
  }
  if (by_column) {
    if (column < cols) {
      atomicMax(ranges.largest + column, largest);
      atomicMax(ranges.negated + column, negated);
    }
    return;
  }
  largest = __reduce_max_sync(0xffffffffu, largest);
  negated = __reduce_max_sync(0xffffffffu, negated);
  if (threadIdx.x == 0) {
    atomicMax(ranges.largest, largest);
    atomicMax(ranges.negated, negated);
  }
}

}  // namespace

void bit_range(const BitRangeArgs& args) {
  const Device device = args.device();
  const int64_t rows = args.x.size(0), cols = args.x.size(1), n = args.scale.numel();
  const bool along_rows = args.along == PackedAlong::rows, each = n != 1 || outer_of(args.x, args.along) == 1;
  Tensor found = Tensor::zeros({2, std::max<int64_t>(n, 1)}, DType::i32, device);
  auto* bits = reinterpret_cast<unsigned*>(found.mutable_data<int32_t>());
  const MinMax minmax{bits, bits + std::max<int64_t>(n, 1)};
  const bool by_row = each && along_rows;
  const auto x_blocks = by_row ? 1u : static_cast<unsigned>(ceil_div(cols, int64_t{kLanes}));
  const int64_t wanted = 8 * properties(device.index).multiprocessors;
  const auto y_blocks = static_cast<unsigned>(std::min<int64_t>(
      ceil_div(rows, int64_t{kRows}), std::max<int64_t>(1, wanted / std::max(x_blocks, 1u))));
  launch("bit_range", overlapping(device.index, {x_blocks, y_blocks}, dim3(kLanes, kRows)), find_minmax,
         args.x.data<float>(), rows, cols, by_row, each && !along_rows, minmax);
  const BitRange range = args.range;
  const int scale_bits = args.bits;
  float *scale = args.scale.mutable_data<float>(), *zero = args.zero.mutable_data<float>();
  for_each("bit_range", device.index, n, [=] __device__(int64_t i) {
    const BitScale result =
        bit_scale(-__uint_as_float(minmax.negated[i]), __uint_as_float(minmax.largest[i]), range, scale_bits);
    scale[i] = result.scale;
    zero[i] = result.zero;
  });
}

}  // namespace adj::kernels::cuda
