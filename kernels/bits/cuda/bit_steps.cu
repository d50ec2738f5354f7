// One block per tile of 128 rows scans its steps in turn: planes are read once.

#include <adjoint/kernels/bits/bit_operands.h>
#include <adjoint/kernels/cuda/launch.cuh>

namespace adj::kernels::cuda {

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    find_steps(BitOperand operand, int steps, int32_t* counts, int32_t* list) {
  begin_overlapping();
  constexpr int64_t kTileBytes = BitSteps::kRows * BitTensor::kRowBytes;
  const int64_t first = blockIdx.x * kTileBytes, last = min(operand.step_bytes, first + kTileBytes);
  int count = 0;
  for (int step = 0; step < steps; ++step) {
    uint32_t any = 0;
    for (int p = 0; p < operand.bits; ++p) {
      const uint8_t* plane = operand.planes + p * operand.plane_bytes + step * operand.step_bytes;
      for (int64_t b = first + int64_t{threadIdx.x} * 16; b < last; b += kThreads * 16) {
        const uint4 x = *reinterpret_cast<const uint4*>(plane + b);
        any |= x.x | x.y | x.z | x.w;
      }
    }
    if (__syncthreads_or(any != 0)) {
      if (threadIdx.x == 0) list[int64_t{blockIdx.x} * steps + count] = step;
      ++count;
    }
  }
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

}  // namespace

void find_bit_steps(const FindBitStepsArgs& args) {
  if (args.output.counts.numel() == 0) return;
  launch("find_bit_steps", overlapping(args.device().index, grid(args.output.counts.numel()), kThreads),
         find_steps, BitOperand(args.input), static_cast<int>(args.input.steps()),
         args.output.counts.mutable_data<int32_t>(), args.output.list.mutable_data<int32_t>());
}

}  // namespace adj::kernels::cuda
