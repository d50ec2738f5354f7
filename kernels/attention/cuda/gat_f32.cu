#include <adjoint/kernels/attention/cuda/passes.cuh>

namespace adj::kernels::cuda {

template void run_gat<float>(const GatArgs&);
template void run_gat_backward<float>(const GatBackwardArgs&);

}  // namespace adj::kernels::cuda
