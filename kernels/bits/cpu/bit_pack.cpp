#include <adjoint/core/parallel.h>
#include <adjoint/kernels/bits/bit_operands.h>
#include <adjoint/kernels/bits/bit_pack.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/types/bit_scale.h>

#include <algorithm>
#include <atomic>
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

constexpr int64_t kChunk = 1 << 14;  // bytes, or numbers

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

void find_bit_steps(const FindBitStepsArgs& args) {
  const BitTensor& q = args.input;
  const auto* planes = q.planes.data<uint8_t>();
  auto* counts = args.output.counts.mutable_data<int32_t>();
  auto* list = args.output.list.mutable_data<int32_t>();
  parallel_for(args.output.counts.numel(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t first = tile * BitSteps::kRows * BitTensor::kRowBytes,
                    last = std::min(q.step_bytes(), first + BitSteps::kRows * BitTensor::kRowBytes);
      int32_t count = 0;
      for (int64_t step = 0; step < q.steps(); ++step) {
        bool any = false;
        for (int p = 0; p < q.bits && !any; ++p) {
          const uint8_t* bytes = planes + p * q.plane_bytes() + step * q.step_bytes();
          any = std::any_of(bytes + first, bytes + last, [](uint8_t byte) { return byte != 0; });
        }
        if (any) list[tile * q.steps() + count++] = static_cast<int32_t>(step);
      }
      counts[tile] = count;
    }
  });
}

void adjacency_bits(const AdjacencyBitsArgs& args) {
  const Csr& a = args.a;
  args.output.planes.zero_();
  const auto* offsets = a.offsets.data<int64_t>();
  const auto* indices = a.indices.data<int32_t>();
  auto* planes = args.output.planes.mutable_data<uint8_t>();
  auto* sums = args.output.sums.mutable_data<int32_t>();
  std::atomic<int32_t> repeats{0};
  parallel_for(a.rows, 64, [&](int64_t begin, int64_t end) {
    int32_t repeated = 0;
    for (int64_t row = begin; row < end; ++row) {
      int32_t sum = 0;
      for (int64_t e = offsets[row]; e < offsets[row + 1]; ++e) {
        uint8_t& byte = planes[bit_place(args.output.step_bytes(), row, indices[e])];
        const auto bit = static_cast<uint8_t>(1 << (indices[e] % 8));
        sum += (byte & bit) == 0;
        byte |= bit;
      }
      sums[row] = sum;
      repeated += static_cast<int32_t>(offsets[row + 1] - offsets[row]) - sum;
    }
    repeats += repeated;
  });
  args.repeats.mutable_data<int32_t>()[0] = repeats;
}

void pack_bytes(const PackBytesArgs& args) {
  const auto* x = args.x.data<float>();
  auto* output = args.output.bytes.mutable_data<uint8_t>();
  const float scale = args.output.scale.data<float>()[0], zero = args.output.zero.data<float>()[0];
  const int largest = args.output.largest();
  const ByteRows rows(args.output);
  parallel_for(rows.used(), kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      output[rows.place(i)] = rows.joined(i, [&](int64_t row, int64_t column) {
        return quantized(x[row * rows.width + column], scale, zero, largest);
      });
  });
}

void unpack_bytes(const UnpackBytesArgs& args) {
  const auto* bytes = args.x.bytes.data<uint8_t>();
  auto* y = args.y.mutable_data<float>();
  const float scale = args.x.scale.data<float>()[0], zero = args.x.zero.data<float>()[0];
  const ByteRows rows(args.x);
  for_each_index(args.y.numel(), kChunk, [&](int64_t i) {
    y[i] = byte_value(rows.at(bytes, i / rows.width, i % rows.width), scale, zero);
  });
}

void repack_bytes(const RepackBytesArgs& args) {
  const auto* x = args.x.bytes.data<uint8_t>();
  auto* output = args.output.bytes.mutable_data<uint8_t>();
  const ByteRows input(args.x), rows(args.output);
  parallel_for(rows.used(), kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      output[rows.place(i)] =
          rows.joined(i, [&](int64_t row, int64_t column) { return input.at(x, row, column); });
  });
}

}  // namespace adj::kernels::cpu
