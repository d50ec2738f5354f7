// Products of bit tensors: by Hopper's tensor cores (bit_product.sm_90a.cu), on other GPUs by popcount, one
// thread per number.

#include <adjoint/kernels/bits/cuda/bit_product.h>
#include <adjoint/kernels/cuda/launch.cuh>

namespace adj::kernels::cuda {

namespace {

constexpr int kTile = 16;

template <class Y>
__global__ void __launch_bounds__(kTile* kTile)
    count_bits(BitOperand a, BitOperand b, const float* bias, bool bytes, int64_t inner, int steps, Y* y) {
  begin_overlapping();
  const BlockPlace block(ceil_div(a.outer, kTile));
  const auto row = static_cast<int>(block.row * kTile + threadIdx.x / kTile),
             column = static_cast<int>(block.column * kTile + threadIdx.x % kTile);
  if (row >= a.outer || column >= b.outer) return;
  int32_t sum = 0;
  for (int i = 0; i < a.bits; ++i)
    for (int j = 0; j < b.bits; ++j) {
      int32_t count = 0;
      for (int64_t k = 0; k < int64_t{steps} * BitTensor::kStepBits; k += 32) {
        const auto x = *reinterpret_cast<const uint32_t*>(a.planes + i * a.plane_bytes +
                                                          bit_place(a.step_bytes, row, k)),
                   y = *reinterpret_cast<const uint32_t*>(b.planes + j * b.plane_bytes +
                                                          bit_place(b.step_bytes, column, k));
        count =
            bytes ? static_cast<int32_t>(__dp4a(x, y, static_cast<uint32_t>(count))) : count + __popc(x & y);
      }
      sum += count << (i + j);
    }
  const int64_t index = int64_t{row} * b.outer + column;
  if constexpr (std::is_same_v<Y, float>) {
    const BitTermWithBias of_column = b.term(column, bias);
    y[index] = bit_value(sum, a.term(row), of_column, static_cast<double>(inner)) + of_column.bias;
  } else {
    y[index] = sum;
  }
}

/// One warp per row and 1024 columns of sums [M,N].
__global__ void __launch_bounds__(256)
    requantize(const int32_t* sums, BitOperand a, BitOperand b, BitResult result, float inner) {
  begin_overlapping();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const BlockPlace block(ceil_div(a.outer, 8));
  const auto row = static_cast<int>(block.row * 8 + threadIdx.x / 32);
  if (row >= a.outer) return;
  const BitRow of_row = result.row(a, row, inner);
  int total = 0;
  for (int first = static_cast<int>(block.column) * 1024, end = min(first + 1024, b.outer); first < end;
       first += 32) {
    const int column = first + lane;
    const int q = column < end ? requantized(sums[int64_t{row} * b.outer + column], of_row,
                                             result.column(b, column), result.largest)
                               : 0;
    total += q;
    if (result.bytes != nullptr) {
      const int joined = result.halves() ? q | __shfl_down_sync(0xffffffffu, q, 1) << 4 : q;
      if (column < end && !(result.halves() && lane % 2 != 0))
        *result.byte_at(row, column) = static_cast<uint8_t>(joined);
      continue;
    }
    const int64_t offset = bit_place(result.step_bytes, row, first);
    for (int p = 0; p < result.bits; ++p) {
      const uint32_t word = __ballot_sync(0xffffffffu, (q >> p & 1) != 0);
      if (lane == p) *reinterpret_cast<uint32_t*>(result.planes + p * result.plane_bytes + offset) = word;
    }
  }
  total = __reduce_add_sync(0xffffffffu, total);
  if (lane == 0 && result.sums != nullptr) atomicAdd(result.sums + row, total);  // integers: any order
}

template <class Y>
void run(const BitGemmArgs& args) {
  launch("bit_gemm",
         overlapping(args.a.device().index,
                     grid(ceil_div(args.a.outer, int64_t{kTile}) * ceil_div(args.b.outer, int64_t{kTile})),
                     kTile * kTile),
         count_bits<Y>, BitOperand(args.a), BitOperand(args.b), BitResult::numbers_of(args.bias),
         args.a.bytes, args.a.inner, static_cast<int>(args.a.steps()), args.y.mutable_data<Y>());
}

void requantized_product(const BitTensor& a, const BitTensor& b, const BitResult& result,
                         const BitSteps* steps = nullptr, bool share_steps = true) {
  const Device device = a.device();
  if (has_bit_products(device)) return bit_product(a, b, steps, share_steps, result);
  Tensor sums = Tensor::empty({a.outer, b.outer}, DType::i32, device);
  run<int32_t>({.a = a, .b = b, .y = sums});
  launch(
      "bit_gemm",
      overlapping(device.index, grid(ceil_div(a.outer, int64_t{8}) * ceil_div(b.outer, int64_t{1024})), 256),
      requantize, sums.data<int32_t>(), BitOperand(a), BitOperand(b), result, static_cast<float>(a.inner));
}

}  // namespace

void bit_gemm(const BitGemmArgs& args) {
  if (args.y.numel() == 0) return;
  if (has_bit_products(args.a.device()) && !args.by_counts) return bit_product(args);
  args.y.dtype() == DType::i32 ? run<int32_t>(args) : run<float>(args);
}

void bit_gemm_to_bits(const BitGemmToBitsArgs& args) {
  BitTensor& output = args.output;
  // Kernels write only whole words of existing rows and columns.
  clear_bits(output, output.inner % output.step_numbers() != 0 || output.outer % BitTensor::kRowGroup != 0);
  if (output.outer == 0 || output.inner == 0) return;
  requantized_product(args.a, args.b, BitResult(args), args.steps, args.share_steps);
}

void bit_gemm_to_bytes(const BitGemmToBytesArgs& args) {
  if (args.output.rows() * args.output.width > 0) requantized_product(args.a, args.b, BitResult(args));
}

}  // namespace adj::kernels::cuda
