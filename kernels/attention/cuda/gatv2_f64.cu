#include <adjoint/kernels/attention/cuda/gatv2.cuh>

namespace adj::kernels::cuda {

template void run_gatv2<double>(const Gatv2Args&);
template void run_gatv2_backward<double>(const Gatv2BackwardArgs&);

}  // namespace adj::kernels::cuda
