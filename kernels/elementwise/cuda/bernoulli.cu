// One pass: p read, one byte written per element. Nothing is saved.
#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/elementwise/bernoulli.h>

namespace adj::kernels::cuda {

void bernoulli(const BernoulliArgs& args) {
  const float* p = args.p.data<float>();
  uint8_t* y = args.y.mutable_data<uint8_t>();
  const RandomKey key = args.key;
  for_each("bernoulli", args.device().index, args.p.numel(),
           [=] __device__(int64_t i) { y[i] = bernoulli_of(p[i], key.seed, stream_of(key), i); });
}

}  // namespace adj::kernels::cuda
