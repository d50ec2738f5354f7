#include <adjoint/kernels/attention/cuda/passes.cuh>

namespace adj::kernels::cuda {

template void run_gatv2<bfloat16>(const Gatv2Args&);
template void run_gatv2_backward<bfloat16>(const Gatv2BackwardArgs&);

}  // namespace adj::kernels::cuda
