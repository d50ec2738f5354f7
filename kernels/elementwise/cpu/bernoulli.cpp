#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/elementwise/bernoulli.h>

namespace adj::kernels::cpu {

void bernoulli(const BernoulliArgs& args) {
  const float* p = args.p.data<float>();
  auto* y = args.y.mutable_data<uint8_t>();
  const uint64_t seed = args.key.seed, stream = stream_of(args.key);
  for_each_index(args.p.numel(), kCostlyGrain,
                 [=](int64_t i) { y[i] = bernoulli_of(p[i], seed, stream, i); });
}

}  // namespace adj::kernels::cpu
