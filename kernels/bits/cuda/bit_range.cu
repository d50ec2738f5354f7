// Saved for backward: x, scale, zero and the kept rows. v is recomputed, as y does not tell where x was
// clamped.
//
// Bytes: forward reads x and writes y. Backward reads x and dy in one pass, and writes dx and the column
// sums; a single scale takes a second sum over these. A scale per row is reduced by the warp that has the
// row.
#include <adjoint/kernels/bits/bit_operands.h>
#include <adjoint/kernels/bits/bit_range.h>
#include <adjoint/kernels/cuda/columns.cuh>
#include <adjoint/kernels/cuda/launch.cuh>

#include <algorithm>

namespace adj::kernels::cuda {

namespace {

/// Ranges of a pack of columns; a shared one is repeated.
template <int N>
struct ColumnRanges {
  float scale[N], zero[N];
};
template <int N>
__device__ ColumnRanges<N> ranges_of_pack(const FakeRanges& ranges, int64_t pack) {
  ColumnRanges<N> columns;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const int64_t column = ranges.by_column ? pack * N + k : 0;
    columns.scale[k] = ranges.scale.numbers[column];
    columns.zero[k] = ranges.zero.numbers[column];
  }
  return columns;
}

template <int N>
struct Forward {
  FakeRanges ranges;
  int64_t width;
  const float* x;
  float* y;

  __device__ ColumnRanges<N> open(int64_t pack) const { return ranges_of_pack<N>(ranges, pack); }
  __device__ void row(const ColumnRanges<N>& columns, int64_t row, int64_t pack) const {
    const int64_t offset = row * width + pack * N;
    Pack<float, N> value = load<N>(x + offset);
    if (!ranges.kept(row)) {
#pragma unroll
      for (int k = 0; k < N; ++k)
        value[k] = fake_quantized(value[k], ranges.by_row ? ranges.scale.at(row) : columns.scale[k],
                                  ranges.by_row ? ranges.zero.at(row) : columns.zero[k], ranges.largest);
    }
    store(y + offset, value);
  }
};

/// dx, if requested, and the column sums, if requested.
template <int N>
struct Backward {
  using Term = double;
  FakeRanges ranges;
  int64_t width;
  const float *x, *dy;
  float* dx;
  double* sums;  // [width], scaled; or null
  float* dscale;
  double gradient_scale;

  __device__ ColumnRanges<N> open(int64_t pack) const { return ranges_of_pack<N>(ranges, pack); }
  __device__ void add(const ColumnRanges<N>& columns, int64_t row, int64_t pack, double (&sum)[1][N]) const {
    const int64_t offset = row * width + pack * N;
    const Pack<float, N> value = load<N>(x + offset);
    Pack<float, N> gradient = load<N>(dy + offset);
    if (!ranges.kept(row)) {
#pragma unroll
      for (int k = 0; k < N; ++k) {
        const FakeSlope slope = fake_slope(value[k], columns.scale[k], columns.zero[k], ranges.largest);
        sum[0][k] += static_cast<double>(gradient[k]) * static_cast<double>(slope.scale);
        gradient[k] *= slope.x;
      }
    }
    if (dx != nullptr) store(dx + offset, gradient);
  }
  __device__ void row(const ColumnRanges<N>& columns, int64_t row, int64_t pack) const {
    double unused[1][N] = {};
    add(columns, row, pack, unused);
  }
  __device__ void finish(int64_t column, const double (&total)[1]) const {
    if (sums != nullptr)
      sums[column] = total[0];
    else
      dscale[column] = static_cast<float>(gradient_scale * total[0]);
  }
};

struct ColumnSum {
  const double* sums;
  __device__ double operator()(int64_t column) const { return sums[column]; }
};
struct LeaveScale {
  float* dscale;
  double gradient_scale;
  __device__ void operator()(double sum) const { *dscale = static_cast<float>(gradient_scale * sum); }
};

/// One warp per row; dx and dscale may be null.
__global__ void __launch_bounds__(kBlockThreads)
    backward_of_rows(int64_t rows, int64_t width, FakeRanges ranges, double gradient_scale, const float* x,
                     const float* dy, float* dx, float* dscale) {
  begin_overlapping();
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int64_t step = int64_t{gridDim.x} * (kBlockThreads / 32);
  for (int64_t row = blockIdx.x * int64_t{kBlockThreads / 32} + threadIdx.x / 32; row < rows; row += step) {
    const float scale = ranges.scale.at(row), zero = ranges.zero.at(row);
    const bool kept = ranges.kept(row);
    double sum = 0.0;
    for (int64_t c = lane; c < width; c += 32) {
      const int64_t offset = row * width + c;
      float gradient = dy[offset];
      if (!kept) {
        const FakeSlope slope = fake_slope(x[offset], scale, zero, ranges.largest);
        sum += static_cast<double>(gradient) * static_cast<double>(slope.scale);
        gradient *= slope.x;
      }
      if (dx != nullptr) dx[offset] = gradient;
    }
    sum = sum_of_lanes<32>(sum);
    if (lane == 0 && dscale != nullptr) dscale[row] = static_cast<float>(gradient_scale * sum);
  }
}

// Minmax ranges. A block reduces some rows by some columns and merges by integer atomics, whose order does
// not matter: bits of floats of one sign ascend with their absolute value, and as 0 is in every range, the
// maximum and the negated minimum are non-negative.
//
// Bytes: x once.

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

void fake_quantize(const FakeQuantizeArgs& args) {
  const int64_t rows = args.x.size(0), width = args.x.size(1);
  if (args.x.numel() == 0) return;
  const float* x = args.x.data<float>();
  float* y = args.y.mutable_data<float>();
  dispatch_pack<float>(width, aligned_to_16(x, y), [&]<int N>() {
    map_columns<N>("fake_quantize", args.x.device().index, rows, width,
                   Forward<N>{FakeRanges(args), width, x, y});
  });
}

void fake_quantize_backward(const FakeQuantizeBackwardArgs& args) {
  constexpr const char* kName = "fake_quantize_backward";
  const int device = args.x.device().index;
  const int64_t rows = args.x.size(0), width = args.x.size(1);
  Tensor& gradient = args.dscale;
  if (args.x.numel() == 0) {
    if (gradient) gradient.zero_();
    return;
  }
  const FakeRanges ranges(args);
  const float *x = args.x.data<float>(), *dy = args.dy.data<float>();
  float* dx = mutable_data_or_null<float>(args.dx);
  float* dscale = mutable_data_or_null<float>(gradient);
  if (ranges.by_row) {
    launch(kName, overlapping(device, blocks_for_sum(device, rows, kBlockThreads / 32)), backward_of_rows,
           rows, width, ranges, args.gradient_scale, x, dy, dx, dscale);
    return;
  }
  const bool of_all = gradient && !ranges.by_column;
  Tensor sums = partials(device, of_all ? width : 0);
  double* of_columns = of_all ? sums.mutable_data<double>() : nullptr;
  dispatch_pack<float>(width, aligned_to_16(x, dy, dx), [&]<int N>() {
    const Backward<N> body{ranges, width, x, dy, dx, of_columns, dscale, args.gradient_scale};
    if (gradient)
      sum_over_rows<1, N>(kName, device, rows, width, body);
    else
      map_columns<N>(kName, device, rows, width, body);
  });
  if (of_all)
    flat_sum<double>(kName, device, width, ColumnSum{of_columns}, LeaveScale{dscale, args.gradient_scale});
}

void bit_range(const BitRangeArgs& args) {
  const Device device = args.x.device();
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
