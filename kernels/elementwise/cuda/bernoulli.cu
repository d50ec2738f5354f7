// One pass: p read, one byte written per element. Nothing is saved.
#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/elementwise/bernoulli.h>

namespace adj::kernels::cuda {

namespace {

__global__ void __launch_bounds__(kBlockThreads)
    draw_each(int64_t n, const float* p, RandomKey key, uint8_t* y) {
  begin_overlapping();
  const uint64_t stream = stream_of(key);
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    y[i] = bernoulli_of(p[i], key.seed, stream, i);
}

}  // namespace

void bernoulli(const BernoulliArgs& args) {
  const int64_t n = args.p.numel();
  launch("bernoulli", over(args.device().index, n), draw_each, n, args.p.data<float>(), args.key,
         args.y.mutable_data<uint8_t>());
}

}  // namespace adj::kernels::cuda
