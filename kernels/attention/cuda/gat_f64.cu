#include <adjoint/kernels/attention/cuda/gat.cuh>

namespace adj::kernels::cuda {

template void run_gat<double>(const GatArgs&);
template void run_gat_backward<double>(const GatBackwardArgs&);

}  // namespace adj::kernels::cuda
