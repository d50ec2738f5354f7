// Integer atomic minima are deterministic in any thread order.

#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/index/renumber.h>

namespace adj::kernels::cuda {

void renumber(const RenumberArgs& args) {
  const int64_t n = args.index.numel();
  const int device = args.index.device().index;
  auto* number = static_cast<uint32_t*>(args.number.raw_mutable_data());
  auto* repeated = static_cast<long long*>(args.repeated.raw_mutable_data());
  const int32_t* index = args.index.data<int32_t>();
  // As unsigned, -1 is larger than every number.
  for_each("renumber", device, args.number.numel(), [=] __device__(int64_t i) { number[i] = 0xffffffffu; });
  args.repeated.fill_(static_cast<double>(n));
  for_each("renumber", device, n, [=] __device__(int64_t k) {
    if (index[k] >= 0) atomicMin(number + index[k], static_cast<uint32_t>(k));
  });
  for_each("renumber", device, n, [=] __device__(int64_t k) {
    if (index[k] >= 0 && number[index[k]] != static_cast<uint32_t>(k))
      atomicMin(repeated, static_cast<long long>(k));
  });
}

}  // namespace adj::kernels::cuda
