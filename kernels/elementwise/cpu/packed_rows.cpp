#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/elementwise/cpu/dropout_mask.h>
#include <adjoint/kernels/elementwise/packed_rows.h>

#include <cstring>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kGroup = PackedRows::kGroup;

/// The integers of a row, one byte each; also writes beyond the last column.
void unpack_row(const PackedOperand& operand, int64_t row, uint8_t* q) {
  for (int64_t g = 0; g * kGroup < operand.cols; ++g) {
    const uint64_t eight = operand.integers(row, g);
    std::memcpy(q + g * kGroup, &eight, sizeof eight);
  }
}

/// Applies the mask: output[i] is at position begin + i.
template <class S>
void drop(DropoutMask& mask, int64_t begin, int64_t n, float scale, S* output) {
  for (int64_t offset = 0; offset < n; offset += DropoutMask::kMost) {
    const int64_t count = std::min(DropoutMask::kMost, n - offset);
    const uint16_t* draws = mask.draw(begin + offset, count);
    const uint32_t threshold = mask.threshold();
    S* part = output + offset;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      const Accumulator<S> value = widen(part[i]) * static_cast<Accumulator<S>>(scale);
      part[i] = narrow<S>(static_cast<uint32_t>(draws[i]) >= threshold ? value : Accumulator<S>{0});
    }
  }
}

}  // namespace

void pack_rows(const PackRowsArgs& args) {
  const PackedOperand operand(args.output);
  const float* x = args.x.data<float>();
  auto* bytes = args.output.bytes.mutable_data<uint8_t>();
  for_each_index(args.output.rows(), row_grain(operand.cols, kCostlyGrain), [&](int64_t i) {
    for (int64_t g = 0; g * kGroup < operand.cols; ++g) {
      uint64_t eight = 0;
      for (int64_t c = g * kGroup; c < std::min(operand.cols, (g + 1) * kGroup); ++c)
        eight |= static_cast<uint64_t>(operand.integer(x[i * operand.cols + c], c)) << (8 * (c % kGroup));
      const uint64_t planes = transposed_bits(eight);
      std::memcpy(bytes + i * operand.row_bytes + g * operand.bits, &planes,
                  static_cast<size_t>(operand.bits));
    }
  });
}

void unpack_rows(const UnpackRowsArgs& args) {
  const PackedOperand operand(args.input);
  dispatch_features(args.y.dtype(), [&]<class S>() {
    S* y = args.y.mutable_data<S>();
    const int64_t cols = operand.cols;
    parallel_for(args.y.size(0), row_grain(cols, kCostlyGrain), [&](int64_t begin, int64_t end) {
      std::vector<uint8_t> integers(static_cast<size_t>(ceil_div(cols, kGroup) * kGroup));
      uint8_t* const q = integers.data();
      DropoutMask mask(args.key, args.rule);
      for (int64_t i = begin; i < end; ++i) {
        unpack_row(operand, args.first + i, q);
        S* const output = y + i * cols;
        const float *scale = operand.scale, *zero = operand.zero;
        if (operand.by_column) {
#pragma omp simd
          for (int64_t c = 0; c < cols; ++c)
            output[c] = narrow<S>(Accumulator<S>{scale[c] * (static_cast<float>(q[c]) - zero[c])});
        } else {
          const float s = *scale, z = *zero;
#pragma omp simd
          for (int64_t c = 0; c < cols; ++c)
            output[c] = narrow<S>(Accumulator<S>{s * (static_cast<float>(q[c]) - z)});
        }
        if (args.rule.threshold > 0) drop(mask, (args.first + i) * cols, cols, args.rule.scale, output);
      }
    });
  });
}

}  // namespace adj::kernels::cpu
