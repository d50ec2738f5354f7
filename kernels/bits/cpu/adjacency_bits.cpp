#include <adjoint/core/parallel.h>
#include <adjoint/kernels/bits/adjacency_bits.h>

#include <atomic>

namespace adj::kernels::cpu {

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

}  // namespace adj::kernels::cpu
