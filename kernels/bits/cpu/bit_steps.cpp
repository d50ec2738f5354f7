#include <adjoint/core/parallel.h>
#include <adjoint/kernels/bits/bit_steps.h>

#include <algorithm>

namespace adj::kernels::cpu {

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

}  // namespace adj::kernels::cpu
