#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/elementwise/cpu/dropout_mask.h>
#include <adjoint/kernels/elementwise/dropout.h>

namespace adj::kernels::cpu {

void dropout(const DropoutArgs& args) {
  const RandomKey key = args.key;
  const DropoutRule rule = args.rule;
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Wide<S>;
    const S* in = args.x.data<S>();
    S* out = args.y.mutable_data<S>();
    const T scale = rule.scale;
    parallel_for(args.x.numel(), kGrain, [=](int64_t begin, int64_t end) {
      DropoutMask mask(key, rule);
      const uint32_t threshold = mask.threshold();
      for (int64_t at = begin; at < end; at += DropoutMask::kMost) {
        const int64_t n = std::min(DropoutMask::kMost, end - at);
        const uint16_t* draws = mask.draw(at, n);
        const S* from = in + at;
        S* to = out + at;
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
          const T kept = widen(from[i]) * scale;
          to[i] = narrow<S>(static_cast<uint32_t>(draws[i]) >= threshold ? kept : T{0});
        }
      }
    });
  });
}

}  // namespace adj::kernels::cpu
