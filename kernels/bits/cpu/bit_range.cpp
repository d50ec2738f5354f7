#include <adjoint/core/parallel.h>
#include <adjoint/kernels/bits/bit_range.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace adj::kernels::cpu {

void bit_range(const BitRangeArgs& args) {
  const bool by_rows = args.along == PackedAlong::rows;
  const int64_t outer = outer_of(args.x, args.along), inner = inner_of(args.x, args.along);
  const int64_t row = by_rows ? inner : 1, step = by_rows ? 1 : outer;
  const float* x = args.x.data<float>();
  struct MinMax {
    float least = 0.0f, largest = 0.0f;  // 0 is always in the range
  };
  std::vector<MinMax> found(static_cast<size_t>(outer));
  parallel_for(outer, 16, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      MinMax& e = found[static_cast<size_t>(o)];
      for (int64_t k = 0; k < inner; ++k) {
        const float value = x[o * row + k * step];
        if (!std::isfinite(value)) continue;
        e.least = std::min(e.least, value);
        e.largest = std::max(e.largest, value);
      }
    }
  });
  auto* scale = args.scale.mutable_data<float>();
  auto* zero = args.zero.mutable_data<float>();
  const auto leave = [&](size_t i, const MinMax& e) {
    const BitScale result = bit_scale(e.least, e.largest, args.range, args.bits);
    scale[i] = result.scale;
    zero[i] = result.zero;
  };
  if (args.scale.numel() == outer) {
    for (size_t o = 0; o < found.size(); ++o) leave(o, found[o]);
    return;
  }
  MinMax all;
  for (const MinMax& e : found) all = {std::min(all.least, e.least), std::max(all.largest, e.largest)};
  leave(0, all);
}

}  // namespace adj::kernels::cpu
