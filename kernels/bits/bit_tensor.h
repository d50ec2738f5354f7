#pragma once

#include <adjoint/core/parallel.h>
#include <adjoint/core/tensor.h>

namespace adj {

/// Unsigned integers q of 1 to 8 bits (kMostBits), [outer, inner], as bit planes, with their dequantization
/// scale (q - zero). Products reduce over `inner`: a left operand [M,K] is packed along its rows (outer M), a
/// right operand [K,N] along its columns (outer N).
///
/// Layout: plane p has bit p of every number. It is split along `inner` into steps of kStepBits; a step has
/// kRowBytes of each row, with the 16-byte chunk c of row o at c ^ (o % 8). Rows are zero-padded to a
/// multiple of kRowGroup, `inner` to one of 1024; the zeros add nothing to a product. So any 8 n rows of a
/// step are contiguous, and one bulk copy brings them to shared memory in the layout that tensor cores read
/// without bank conflicts. (QGTC's 3D-stacked planes, section 4.2, are read in tiles of 8 x 128 bits.)
///
/// Alternatively one byte per number, in the same layout: steps of 128 numbers, one plane. This is faster for
/// products of operands with many bits or short rows (as_bytes() below); both operands must use the same
/// form.
struct BitTensor {
  static constexpr int64_t kStepBits = 1024, kRowBytes = kStepBits / 8, kRowGroup = 8;
  static constexpr int kMostBits = 8;

  int64_t outer = 0, inner = 0;
  int bits = 0;
  bool bytes = false;  ///< one per number, else planes
  Tensor planes;       ///< uint8 [bits, or 1 of bytes, steps, padded rows, kRowBytes]
  Tensor scale, zero;  ///< float32 [1], or [outer]: per row
  Tensor sums;         ///< int32 [outer]: Σ q over inner

  /// Allocates planes and sums. Throws if `bits` is not in 1 to 8 or a size is negative.
  static BitTensor empty(int64_t outer, int64_t inner, int bits, Tensor scale, Tensor zero, Device device,
                         bool bytes = false) {
    ADJ_CHECK(bits >= 1 && bits <= kMostBits, "bit tensor: expected 1 to 8 bits, got {}", bits);
    ADJ_CHECK(outer >= 0 && inner >= 0, "bit tensor: expected sizes of 0 or more, got [{}, {}]", outer,
              inner);
    BitTensor result;
    result.outer = outer;
    result.inner = inner;
    result.bits = bits;
    result.bytes = bytes;
    result.scale = std::move(scale);
    result.zero = std::move(zero);
    result.planes = Tensor::empty({result.num_planes(), result.steps(), result.padded_rows(), kRowBytes},
                                  DType::u8, device);
    result.sums = Tensor::empty({outer}, DType::i32, device);
    return result;
  }

  int num_planes() const { return bytes ? 1 : bits; }                     ///< 1 if of bytes
  int64_t step_numbers() const { return bytes ? kRowBytes : kStepBits; }  ///< numbers of a row in a step
  int64_t steps() const { return ceil_div(inner, step_numbers()); }
  int64_t padded_rows() const { return ceil_div(outer, kRowGroup) * kRowGroup; }  ///< a multiple of kRowGroup
  int64_t step_bytes() const { return padded_rows() * kRowBytes; }  ///< bytes of a step of a plane
  int64_t plane_bytes() const { return steps() * step_bytes(); }    ///< bytes of a plane
  int largest() const { return (1 << bits) - 1; }                   ///< the largest q
  Device device() const { return planes.device(); }                 ///< of all its tensors
  BitTensor to(Device where) const {
    BitTensor moved = *this;
    moved.planes = planes.to(where);
    moved.scale = scale.to(where);
    moved.zero = zero.to(where);
    moved.sums = sums.to(where);
    return moved;
  }
};

/// Byte offset of number `k` of row `o` in a plane; its bit there is k % 8.
ADJ_HOST_DEVICE inline int64_t bit_place(int64_t step_bytes, int64_t o, int64_t k) {
  // Unsigned, 32 bits suffice: a few shifts.
  constexpr auto kStep = static_cast<uint32_t>(BitTensor::kStepBits);
  const uint32_t in_step = static_cast<uint32_t>(k) % kStep,
                 in_row = ((in_step / 128) ^ (static_cast<uint32_t>(o) % BitTensor::kRowGroup)) * 16 +
                          in_step % 128 / 8;
  return static_cast<int64_t>(static_cast<uint64_t>(k) / kStep) * step_bytes + o * BitTensor::kRowBytes +
         in_row;
}

/// Byte offset for one byte per number.
ADJ_HOST_DEVICE inline int64_t byte_place(int64_t step_bytes, int64_t o, int64_t k) {
  return bit_place(step_bytes, o, k * 8);
}

/// Packing direction of a matrix [R,C]: along rows (outer R, inner C), for a left operand, or along columns
/// (outer C, inner R), for a right one.
enum class PackedAlong : uint8_t { rows, columns };
/// Rows of the bit tensor of x.
inline int64_t outer_of(const Tensor& x, PackedAlong along) {
  return x.size(along == PackedAlong::rows ? 0 : 1);
}
/// Numbers in a row of the bit tensor of x.
inline int64_t inner_of(const Tensor& x, PackedAlong along) {
  return x.size(along == PackedAlong::rows ? 1 : 0);
}

/// The nonempty steps of 1024 numbers of a bit tensor, by tiles of kRows rows; a product over a clustered
/// adjacency skips the others (zero-tile jumping, QGTC, section 4.3). to() copies them to a device.
struct BitSteps {
  static constexpr int64_t kRows = 128;

  int64_t outer = 0, steps = 0;  ///< of the bit tensor
  Tensor counts;                 ///< int32 [tiles]
  Tensor list;                   ///< int32 [tiles, steps]: the first counts[t] of tile t, ascending

  BitSteps to(Device device) const { return {outer, steps, counts.to(device), list.to(device)}; }
};

}  // namespace adj
