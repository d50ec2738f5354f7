#include <adjoint/kernels/bits/bit_operands.h>
#include <adjoint/kernels/cpu/loops.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace adj::kernels::cpu {

namespace {

/// Strides of x, in numbers, between rows of the bit tensor and along one.
struct Strides {
  int64_t outer, inner;

  Strides(const BitTensor& q, PackedAlong along)
      : outer(along == PackedAlong::rows ? q.inner : 1), inner(along == PackedAlong::rows ? 1 : q.outer) {}
};

}  // namespace

void pack_bits(const PackBitsArgs& args) {
  BitTensor& output = args.output;
  const Strides strides(output, args.along);
  const PerRow scales(output.scale), zeros(output.zero);
  const float* x = args.x.data<float>();
  auto* planes = output.planes.mutable_data<uint8_t>();
  auto* sums = output.sums.mutable_data<int32_t>();
  const int64_t steps = output.steps(), step_bytes = output.step_bytes(), plane_bytes = output.plane_bytes();
  for_each_index(output.padded_rows(), 8, [&](int64_t o) {
    const bool is_row = o < output.outer;
    const float scale = is_row ? scales.at(o) : 1.0f, zero = is_row ? zeros.at(o) : 0.0f;
    int32_t sum = 0;
    for (int64_t step = 0; step < steps; ++step) {
      uint8_t packed[BitTensor::kMostBits][BitTensor::kRowBytes] = {};
      const int64_t first = step * BitTensor::kStepBits,
                    last = is_row ? std::min(output.inner, first + BitTensor::kStepBits) : first;
      for (int64_t k = first; k < last; ++k) {
        const int q = quantized(x[o * strides.outer + k * strides.inner], scale, zero, output.largest());
        sum += q;
        const auto offset = static_cast<size_t>(bit_place(0, o % BitTensor::kRowGroup, k) -
                                                o % BitTensor::kRowGroup * BitTensor::kRowBytes);
        for (int p = 0; p < output.bits; ++p)
          packed[p][offset] = static_cast<uint8_t>(packed[p][offset] | (q >> p & 1) << (k % 8));
      }
      for (int p = 0; p < output.bits; ++p)
        std::memcpy(planes + p * plane_bytes + step * step_bytes + o * BitTensor::kRowBytes, packed[p],
                    BitTensor::kRowBytes);
    }
    if (is_row) sums[o] = sum;
  });
}

void unpack_bits(const UnpackBitsArgs& args) {
  const Strides strides(args.input, args.along);
  const BitOperand operand(args.input);
  float* x = args.x.mutable_data<float>();
  for_each_index(operand.outer, 8, [&](int64_t o) {
    for (int64_t k = 0; k < args.input.inner; ++k) {
      const int q = operand.integer(bit_place(operand.step_bytes, o, k), k);
      x[o * strides.outer + k * strides.inner] =
          operand.scale.at(o) * (static_cast<float>(q) - operand.zero.at(o));
    }
  });
}

void expand_bits(const ExpandBitsArgs& args) {
  const BitOperand operand(args.input);
  auto* bytes = args.output.planes.mutable_data<uint8_t>();
  args.output.planes.zero_();
  for_each_index(operand.outer, 64, [&](int64_t o) {
    for (int64_t k = 0; k < args.input.inner; ++k)
      bytes[byte_place(args.output.step_bytes(), o, k)] =
          static_cast<uint8_t>(operand.integer(bit_place(operand.step_bytes, o, k), k));
  });
}

}  // namespace adj::kernels::cpu
