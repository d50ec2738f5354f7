#include <adjoint/kernels/attention/cuda/gat.cuh>

namespace adj::kernels::cuda {

template void run_gat<bfloat16>(const GatArgs&);
template void run_gat_backward<bfloat16>(const GatBackwardArgs&);

}  // namespace adj::kernels::cuda
