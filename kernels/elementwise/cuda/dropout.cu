#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/elementwise/cuda/dropout_mask.cuh>
#include <adjoint/kernels/elementwise/dropout.h>

namespace adj::kernels::cuda {

namespace {

// A thread takes eight elements, which one Philox block decides on.
constexpr int kEight = 8;

template <bool kAligned, class S>
__global__ void __launch_bounds__(kBlockThreads)
    dropout_kernel(int64_t n, const S* x, DropoutMask mask, Wide<S> scale, S* y) {
  using T = Wide<S>;
  begin_overlapping();
  const int64_t step = int64_t{gridDim.x} * blockDim.x * kEight;
  for (int64_t i = (blockIdx.x * int64_t{blockDim.x} + threadIdx.x) * kEight; i < n; i += step) {
    if (kAligned && i + kEight <= n) {
      Pack<T, kEight> pack = load_wide<kEight>(x + i);
      const uint32_t kept = mask.kept<kEight>(i);
#pragma unroll
      for (int k = 0; k < kEight; ++k) pack[k] = (kept >> k & 1u) != 0 ? pack[k] * scale : T{0};
      store_narrow<kEight>(y + i, pack);
    } else {
      const uint32_t kept = mask.kept<kEight>(i);
      for (int k = 0; k < kEight && i + k < n; ++k)
        y[i + k] = narrow<S>((kept >> k & 1u) != 0 ? widen(x[i + k]) * scale : T{0});
    }
  }
}

}  // namespace

void dropout(const DropoutArgs& args) {
  const RandomKey key = args.key;
  const DropoutRule rule = args.rule;
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const S* in = args.x.data<S>();
    S* out = args.y.mutable_data<S>();
    const auto kernel = aligned_to_16(in, out) ? dropout_kernel<true, S> : dropout_kernel<false, S>;
    launch("dropout",
           {.device = args.x.device().index, .blocks = blocks_for(args.x.numel(), kEight), .overlaps = true},
           kernel, args.x.numel(), in, DropoutMask{key, rule.threshold}, Wide<S>{rule.scale}, out);
  });
}

}  // namespace adj::kernels::cuda
