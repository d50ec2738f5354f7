#include <adjoint/kernels/attention/cuda/passes.cuh>
#include <adjoint/kernels/attention/cuda/rest.cuh>

namespace adj::kernels::cuda {

template void run_gat<bfloat16>(const GatArgs&);
template void run_gat_backward<bfloat16>(const GatBackwardArgs&);
template void run_rest<bfloat16, GatScore>(const char*, const Csr&, const AttentionOperands&, Tensor&,
                                           Tensor&);
template void run_rest_backward<bfloat16, GatScore>(const char*, const Csr&, const Csr&,
                                                    const AttentionOperands&, const Tensor&, Tensor&,
                                                    RestGradients, RestGradients);

}  // namespace adj::kernels::cuda
