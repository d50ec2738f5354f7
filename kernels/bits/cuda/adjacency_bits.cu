// One warp per row sets its entries' bits by atomic OR, deterministic in any order. Bytes: the planes, which
// are cleared first, and the structure.

#include <adjoint/kernels/bits/adjacency_bits.h>
#include <adjoint/kernels/bits/cuda/bit_pack.h>
#include <adjoint/kernels/cuda/launch.cuh>

namespace adj::kernels::cuda {

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    set_bits(const int64_t* offsets, const int32_t* indices, int64_t rows, int64_t step_bytes,
             uint8_t* planes, int32_t* sums, int32_t* repeats) {
  begin_overlapping();
  const int64_t row = (int64_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= rows) return;
  const int64_t begin = offsets[row], end = offsets[row + 1];
  int sum = 0;
  for (int64_t e = begin + lane; e < end; e += 32) {
    const int column = indices[e];
    const uint32_t bit = 1u << column % 32;
    auto* const word = reinterpret_cast<uint32_t*>(planes + bit_place(step_bytes, row, column / 32 * 32));
    sum += (atomicOr(word, bit) & bit) == 0;
  }
  sum = __reduce_add_sync(0xffffffffu, sum);
  if (lane > 0) return;
  sums[row] = sum;
  if (sum < end - begin) atomicAdd(repeats, static_cast<int>(end - begin) - sum);
}

}  // namespace

void adjacency_bits(const AdjacencyBitsArgs& args) {
  const Csr& a = args.a;
  clear_bits(args.output, true);
  args.repeats.zero_();
  if (a.rows == 0) return;
  launch("adjacency_bits", overlapping(args.device().index, blocks_for(a.rows * 32), kThreads), set_bits,
         a.offsets.data<int64_t>(), a.indices.data<int32_t>(), a.rows, args.output.step_bytes(),
         args.output.planes.mutable_data<uint8_t>(), args.output.sums.mutable_data<int32_t>(),
         args.repeats.mutable_data<int32_t>());
}

}  // namespace adj::kernels::cuda
