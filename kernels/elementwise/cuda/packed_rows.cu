// Nothing is saved. A thread takes eight numbers of a row and transposes the bytes of their planes in a
// register.
//
// Bytes: packed rows and float32 (or y's type) once each, one read and the other written.

#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/elementwise/cuda/dropout_mask.cuh>
#include <adjoint/kernels/elementwise/packed_rows.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kEight = static_cast<int>(PackedRows::kGroup);

/// Bit k: `position` + k is kept, regardless of Philox block boundaries.
__device__ __forceinline__ uint32_t kept_of_eight(const DropoutMask& mask, int64_t position) {
  const auto apart = static_cast<uint32_t>(position % kEight);
  const uint32_t kept = mask.kept<kEight>(position - apart);
  return apart == 0 ? kept : (kept | mask.kept<kEight>(position - apart + kEight) << kEight) >> apart;
}

template <class S>
struct Unpack {
  int64_t in_row;  ///< groups per row
  PackedOperand source;
  int64_t first;
  DropoutMask mask;
  Accumulator<S> scale;
  bool aligned;
  S* y;

  __device__ void operator()(int64_t index) const {
    const int64_t row = index / in_row, column = (index - row * in_row) * kEight;
    const uint64_t q = source.integers(first + row, column / kEight);
    const int64_t place = (first + row) * source.cols + column;
    const uint32_t kept = mask.threshold > 0 ? kept_of_eight(mask, place) : 0xffu;
    Pack<Accumulator<S>, kEight> pack;
#pragma unroll
    for (int k = 0; k < kEight; ++k) {
      if (column + k >= source.cols) continue;
      // Rounded to the storage type before scaling, like dropout of a stored matrix.
      pack[k] =
          widen(narrow<S>(Accumulator<S>{source.value(static_cast<int>(q >> (8 * k) & 0xffu), column + k)}));
      if (mask.threshold > 0) pack[k] = (kept >> k & 1u) != 0 ? pack[k] * scale : Accumulator<S>{0};
    }
    S* output = y + row * source.cols + column;
    if (aligned) {
      store_narrow<kEight>(output, pack);
    } else {
#pragma unroll
      for (int k = 0; k < kEight; ++k)
        if (column + k < source.cols) output[k] = narrow<S>(pack[k]);
    }
  }
};

}  // namespace

void pack_rows(const PackRowsArgs& args) {
  const int64_t in_row = ceil_div(args.output.cols, PackedRows::kGroup), groups = args.output.rows() * in_row;
  if (groups == 0) return;
  const PackedOperand output(args.output);
  const float* x = args.x.data<float>();
  uint8_t* bytes = args.output.bytes.mutable_data<uint8_t>();
  for_each("pack_rows", args.x.device().index, groups, [=] __device__(int64_t index) {
    const int64_t row = index / in_row, column = (index - row * in_row) * kEight;
    uint64_t eight = 0;
#pragma unroll
    for (int k = 0; k < kEight; ++k)
      if (column + k < output.cols)
        eight |= static_cast<uint64_t>(output.integer(x[row * output.cols + column + k], column + k))
                 << (8 * k);
    const uint64_t planes = transposed_bits(eight);
    uint8_t* byte = bytes + row * output.row_bytes + column / kEight * output.bits;
    for (int p = 0; p < output.bits; ++p) byte[p] = static_cast<uint8_t>(planes >> (8 * p));
  });
}

void unpack_rows(const UnpackRowsArgs& args) {
  const int64_t in_row = ceil_div(args.input.cols, PackedRows::kGroup), groups = args.y.size(0) * in_row;
  if (groups == 0) return;
  dispatch_features(args.y.dtype(), [&]<class S>() {
    S* y = args.y.mutable_data<S>();
    for_each(
        "unpack_rows", args.y.device().index, groups,
        Unpack<S>{in_row, PackedOperand(args.input), args.first, DropoutMask{args.key, args.rule.threshold},
                  Accumulator<S>{args.rule.scale}, args.input.cols % kEight == 0 && aligned_to_16(y), y});
  });
}

}  // namespace adj::kernels::cuda
