#include <adjoint/kernels/attention/cuda/rest.cuh>

namespace adj::kernels::cuda {

template void run_dot_rest<float16>(const Csr&, const AttentionOperands&, Tensor&, Tensor&);
template void run_dot_rest_backward<float16>(const Csr&, const Csr&, const AttentionOperands&, const Tensor&,
                                             Tensor&, Tensor&, Tensor&, Tensor&);

}  // namespace adj::kernels::cuda
