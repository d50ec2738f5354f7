#include <adjoint/kernels/attention/cuda/rest.cuh>

namespace adj::kernels::cuda {

template void run_rest<float16, DotScore>(const char*, const Csr&, const AttentionOperands&, Tensor&,
                                          Tensor&);
template void run_rest_backward<float16, DotScore>(const char*, const Csr&, const Csr&,
                                                   const AttentionOperands&, const Tensor&, Tensor&,
                                                   RestGradients, RestGradients);
template void run_rest<float16, GatScore>(const char*, const Csr&, const AttentionOperands&, Tensor&,
                                          Tensor&);
template void run_rest_backward<float16, GatScore>(const char*, const Csr&, const Csr&,
                                                   const AttentionOperands&, const Tensor&, Tensor&,
                                                   RestGradients, RestGradients);

}  // namespace adj::kernels::cuda
