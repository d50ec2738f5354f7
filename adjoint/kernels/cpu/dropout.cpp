#include <adjoint/kernels/cpu/dropout_mask.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/dropout.h>

namespace adj::kernels::cpu {

void dropout(const Tensor& x, RandomKey key, DropoutRule rule, Tensor& y) {
  dispatch_float(x.dtype(), "dropout", [&]<class T>() {
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    const T scale = static_cast<T>(rule.scale);
    parallel_for(x.numel(), kGrain, [=](int64_t begin, int64_t end) {
      DropoutMask mask(key, rule);
      const uint32_t threshold = mask.threshold();
      for (int64_t at = begin; at < end; at += DropoutMask::kMost) {
        const int64_t n = std::min(DropoutMask::kMost, end - at);
        const uint16_t* draws = mask.draw(at, n);
        const T* from = in + at;
        T* to = out + at;
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
          const T kept = from[i] * scale;
          to[i] = static_cast<uint32_t>(draws[i]) >= threshold ? kept : T{0};
        }
      }
    });
  });
}

}  // namespace adj::kernels::cpu
