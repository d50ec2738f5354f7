// Products of bit tensors: by Hopper's tensor cores (bit_product.sm_90a.cu), elsewhere by population counts,
// a thread a number.

#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/kernels/bits/cuda/bit_product.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kTile = 16;

template <class Y>
__global__ void __launch_bounds__(kTile* kTile)
    count_bits(BitOperand a, BitOperand b, int64_t inner, int steps, Y* y) {
  adj::cuda::begin_overlapping();
  const int row = static_cast<int>(blockIdx.x * kTile + threadIdx.x / kTile),
            column = static_cast<int>(blockIdx.y * kTile + threadIdx.x % kTile);
  if (row >= a.outer || column >= b.outer) return;
  int32_t sum = 0;
  for (int i = 0; i < a.bits; ++i)
    for (int j = 0; j < b.bits; ++j) {
      int32_t count = 0;
      for (int64_t k = 0; k < int64_t{steps} * BitTensor::kStepBits; k += 32)
        count += __popc(*reinterpret_cast<const uint32_t*>(a.planes + i * a.plane_bytes +
                                                           bit_place(a.step_bytes, row, k)) &
                        *reinterpret_cast<const uint32_t*>(b.planes + j * b.plane_bytes +
                                                           bit_place(b.step_bytes, column, k)));
      sum += count << (i + j);
    }
  const int64_t at = int64_t{row} * b.outer + column;
  if constexpr (std::is_same_v<Y, float>)
    y[at] = bit_value(sum, a.term(row), b.term(column), static_cast<double>(inner));
  else
    y[at] = sum;
}

template <class Y>
void run(const BitGemmArgs& args) {
  adj::cuda::launch("bit_gemm",
                    {.device = args.device().index,
                     .blocks = dim3(static_cast<unsigned>(ceil_div(args.a.outer, int64_t{kTile})),
                                    static_cast<unsigned>(ceil_div(args.b.outer, int64_t{kTile}))),
                     .threads = kTile * kTile,
                     .overlaps = true},
                    count_bits<Y>, BitOperand(args.a), BitOperand(args.b), args.a.inner,
                    static_cast<int>(args.a.steps()), args.y.mutable_data<Y>());
}

}  // namespace

void bit_gemm(const BitGemmArgs& args) {
  if (args.y.numel() == 0) return;
  if (has_bit_products(args.device())) return bit_product(args);
  args.y.dtype() == DType::i32 ? run<int32_t>(args) : run<float>(args);
}

}  // namespace adj::kernels::cuda
