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

/// Bit k: position at + k is kept, regardless of Philox block boundaries.
__device__ __forceinline__ uint32_t kept_of_eight(const DropoutMask& mask, int64_t at) {
  const auto apart = static_cast<uint32_t>(at % kEight);
  const uint32_t kept = mask.kept<kEight>(at - apart);
  return apart == 0 ? kept : (kept | mask.kept<kEight>(at - apart + kEight) << kEight) >> apart;
}

template <class S>
struct Unpack {
  int64_t in_row;  ///< groups per row
  PackedOperand from;
  int64_t first;
  DropoutMask mask;
  Accumulator<S> scale;
  bool aligned;
  S* y;

  __device__ void operator()(int64_t at) const {
    const int64_t row = at / in_row, column = (at - row * in_row) * kEight;
    const uint64_t q = from.integers(first + row, column / kEight);
    const int64_t place = (first + row) * from.cols + column;
    const uint32_t kept = mask.threshold > 0 ? kept_of_eight(mask, place) : 0xffu;
    Pack<Accumulator<S>, kEight> pack;
#pragma unroll
    for (int k = 0; k < kEight; ++k) {
      if (column + k >= from.cols) continue;
      // Rounded to the storage type before scaling, like dropout of a stored matrix.
      pack[k] =
          widen(narrow<S>(Accumulator<S>{from.value(static_cast<int>(q >> (8 * k) & 0xffu), column + k)}));
      if (mask.threshold > 0) pack[k] = (kept >> k & 1u) != 0 ? pack[k] * scale : Accumulator<S>{0};
    }
    S* to = y + row * from.cols + column;
    if (aligned) {
      store_narrow<kEight>(to, pack);
    } else {
#pragma unroll
      for (int k = 0; k < kEight; ++k)
        if (column + k < from.cols) to[k] = narrow<S>(pack[k]);
    }
  }
};

}  // namespace

void pack_rows(const PackRowsArgs& args) {
  const int64_t in_row = ceil_div(args.output.cols, PackedRows::kGroup), groups = args.output.rows() * in_row;
  if (groups == 0) return;
  const PackedOperand to(args.output);
  const float* x = args.x.data<float>();
  uint8_t* bytes = args.output.bytes.mutable_data<uint8_t>();
  for_each("pack_rows", args.device().index, groups, [=] __device__(int64_t at) {
    const int64_t row = at / in_row, column = (at - row * in_row) * kEight;
    uint64_t eight = 0;
#pragma unroll
    for (int k = 0; k < kEight; ++k)
      if (column + k < to.cols)
        eight |= static_cast<uint64_t>(to.integer(x[row * to.cols + column + k], column + k)) << (8 * k);
    const uint64_t planes = transposed_bits(eight);
    uint8_t* byte = bytes + row * to.row_bytes + column / kEight * to.bits;
    for (int p = 0; p < to.bits; ++p) byte[p] = static_cast<uint8_t>(planes >> (8 * p));
  });
}

void unpack_rows(const UnpackRowsArgs& args) {
  const int64_t in_row = ceil_div(args.input.cols, PackedRows::kGroup), groups = args.y.size(0) * in_row;
  if (groups == 0) return;
  dispatch_features(args.y.dtype(), [&]<class S>() {
    S* y = args.y.mutable_data<S>();
    for_each(
        "unpack_rows", args.device().index, groups,
        Unpack<S>{in_row, PackedOperand(args.input), args.first, DropoutMask{args.key, args.rule.threshold},
                  Accumulator<S>{args.rule.scale}, args.input.cols % kEight == 0 && aligned_to_16(y), y});
  });
}

}  // namespace adj::kernels::cuda
