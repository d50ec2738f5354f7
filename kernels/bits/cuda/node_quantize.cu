// Saved for backward: x, scale and bits. Recomputed: where x was clamped.
//
// Bytes: forward reads x and writes y; backward reads x and dy and writes dx. A warp has a node's numbers,
// and reduces their gradients of the scale and bits.

#include <adjoint/kernels/bits/node_quantize.h>
#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/cuda/reduction.cuh>

namespace adj::kernels::cuda {

namespace {

constexpr int kRows = kBlockThreads / 32;  // per block

struct Nodes {
  const float *scale, *bits, *is_signed;
  __device__ NodeRange range(int64_t row) const { return node_range(scale[row], bits[row], *is_signed); }
};

__global__ void __launch_bounds__(kBlockThreads)
    forward(int64_t rows, int64_t width, Nodes nodes, const float* x, float* y) {
  begin_overlapping();
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int64_t step = int64_t{gridDim.x} * kRows;
  for (int64_t row = blockIdx.x * int64_t{kRows} + threadIdx.x / 32; row < rows; row += step) {
    const NodeRange range = nodes.range(row);
    for (int64_t at = row * width + lane; at < (row + 1) * width; at += 32)
      y[at] = node_quantized(x[at], range);
  }
}

/// dx may be null.
__global__ void __launch_bounds__(kBlockThreads)
    backward(int64_t rows, int64_t width, Nodes nodes, bool local, double share, const float* x,
             const float* dy, float* dx, float* dscale, float* dbits) {
  begin_overlapping();
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int64_t step = int64_t{gridDim.x} * kRows;
  for (int64_t row = blockIdx.x * int64_t{kRows} + threadIdx.x / 32; row < rows; row += step) {
    const NodeRange range = nodes.range(row);
    double of_scale = 0.0, of_bits = 0.0;
    for (int64_t at = row * width + lane; at < (row + 1) * width; at += 32) {
      const float value = x[at], given = dy[at];
      const NodeSlope slope = node_slope(value, range);
      const float taken = local ? error_sign(value, node_quantized(value, range)) : given;
      // Products of two float32 numbers are exact in float64, so FMA contraction does not change the sums.
      of_scale += static_cast<double>(taken) * static_cast<double>(slope.scale);
      of_bits += static_cast<double>(taken) * static_cast<double>(slope.bits);
      if (dx != nullptr) dx[at] = given * slope.x;
    }
    of_scale = sum_of_lanes<32>(of_scale);
    of_bits = sum_of_lanes<32>(of_bits);
    if (lane != 0) continue;
    dscale[row] = static_cast<float>(share * of_scale);
    dbits[row] = static_cast<float>(share * of_bits);
  }
}

template <class Args>
Nodes nodes_of(const Args& args) {
  return {args.scale.template data<float>(), args.bits.template data<float>(),
          args.is_signed.template data<float>()};
}

}  // namespace

void node_quantize(const NodeQuantizeArgs& args) {
  const int64_t rows = args.x.size(0);
  if (args.x.numel() == 0) return;
  launch("node_quantize", overlapping(args.device().index, blocks_for(rows, kRows, 1)), forward, rows,
         args.x.size(1), nodes_of(args), args.x.data<float>(), args.y.mutable_data<float>());
}

void node_quantize_backward(const NodeQuantizeBackwardArgs& args) {
  const int64_t rows = args.x.size(0), width = args.x.size(1);
  if (rows == 0) return;
  launch("node_quantize_backward", overlapping(args.device().index, blocks_for(rows, kRows, 1)), backward,
         rows, width, nodes_of(args), args.local, error_share(args), args.x.data<float>(),
         args.dy.data<float>(), mutable_data_or_null<float>(args.dx), args.dscale.mutable_data<float>(),
         args.dbits.mutable_data<float>());
}

}  // namespace adj::kernels::cuda
