#include <adjoint/core/parallel.h>
#include <adjoint/kernels/bits/bit_steps.h>

#include <algorithm>

namespace adj::kernels::cpu {

void find_bit_steps(const FindBitStepsArgs& args) {
  const BitTensor& of = args.of;
  const auto* planes = of.planes.data<uint8_t>();
  auto* counts = args.to.counts.mutable_data<int32_t>();
  auto* list = args.to.list.mutable_data<int32_t>();
  parallel_for(args.to.counts.numel(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t first = tile * BitSteps::kRows * BitTensor::kRowBytes,
                    last = std::min(of.step_bytes(), first + BitSteps::kRows * BitTensor::kRowBytes);
      int32_t count = 0;
      for (int64_t step = 0; step < of.steps(); ++step) {
        bool any = false;
        for (int p = 0; p < of.bits && !any; ++p) {
          const uint8_t* at = planes + p * of.plane_bytes() + step * of.step_bytes();
          any = std::any_of(at + first, at + last, [](uint8_t byte) { return byte != 0; });
        }
        if (any) list[tile * of.steps() + count++] = static_cast<int32_t>(step);
      }
      counts[tile] = count;
    }
  });
}

}  // namespace adj::kernels::cpu
