#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/elementwise/cpu/dropout_mask.h>
#include <adjoint/kernels/elementwise/packed_rows.h>

#include <cstring>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kGroup = PackedRows::kGroup;

/// The integers of a row, one byte each; also writes beyond the last column.
void unpack_row(const PackedOperand& from, int64_t row, uint8_t* q) {
  for (int64_t g = 0; g * kGroup < from.cols; ++g) {
    const uint64_t eight = from.integers(row, g);
    std::memcpy(q + g * kGroup, &eight, sizeof eight);
  }
}

/// Applies the mask: to[i] is at position begin + i.
template <class S>
void drop(DropoutMask& mask, int64_t begin, int64_t n, float scale, S* to) {
  for (int64_t at = 0; at < n; at += DropoutMask::kMost) {
    const int64_t count = std::min(DropoutMask::kMost, n - at);
    const uint16_t* draws = mask.draw(begin + at, count);
    const uint32_t threshold = mask.threshold();
    S* part = to + at;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      const Accumulator<S> value = widen(part[i]) * static_cast<Accumulator<S>>(scale);
      part[i] = narrow<S>(static_cast<uint32_t>(draws[i]) >= threshold ? value : Accumulator<S>{0});
    }
  }
}

}  // namespace

void pack_rows(const PackRowsArgs& args) {
  const PackedOperand to(args.to);
  const float* x = args.x.data<float>();
  auto* bytes = args.to.bytes.mutable_data<uint8_t>();
  for_each_index(args.to.rows(), row_grain(to.cols, kCostlyGrain), [&](int64_t i) {
    for (int64_t g = 0; g * kGroup < to.cols; ++g) {
      uint64_t eight = 0;
      for (int64_t c = g * kGroup; c < std::min(to.cols, (g + 1) * kGroup); ++c)
        eight |= static_cast<uint64_t>(to.integer(x[i * to.cols + c], c)) << (8 * (c % kGroup));
      const uint64_t planes = transposed_bits(eight);
      std::memcpy(bytes + i * to.row_bytes + g * to.bits, &planes, static_cast<size_t>(to.bits));
    }
  });
}

void unpack_rows(const UnpackRowsArgs& args) {
  const PackedOperand from(args.from);
  dispatch_features(args.y.dtype(), [&]<class S>() {
    S* y = args.y.mutable_data<S>();
    const int64_t cols = from.cols;
    parallel_for(args.y.size(0), row_grain(cols, kCostlyGrain), [&](int64_t begin, int64_t end) {
      std::vector<uint8_t> integers(static_cast<size_t>(ceil_div(cols, kGroup) * kGroup));
      uint8_t* const q = integers.data();
      DropoutMask mask(args.key, args.rule);
      for (int64_t i = begin; i < end; ++i) {
        unpack_row(from, args.first + i, q);
        S* const to = y + i * cols;
        const float *scale = from.scale, *zero = from.zero;
        if (from.by_column) {
#pragma omp simd
          for (int64_t c = 0; c < cols; ++c)
            to[c] = narrow<S>(Accumulator<S>{scale[c] * (static_cast<float>(q[c]) - zero[c])});
        } else {
          const float s = *scale, z = *zero;
#pragma omp simd
          for (int64_t c = 0; c < cols; ++c)
            to[c] = narrow<S>(Accumulator<S>{s * (static_cast<float>(q[c]) - z)});
        }
        if (args.rule.threshold > 0) drop(mask, (args.first + i) * cols, cols, args.rule.scale, to);
      }
    });
  });
}

}  // namespace adj::kernels::cpu
