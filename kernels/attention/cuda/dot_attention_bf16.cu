#include <adjoint/kernels/attention/cuda/passes.cuh>
#include <adjoint/kernels/attention/cuda/rest.cuh>

namespace adj::kernels::cuda {

template void run_dot_attention<bfloat16>(const DotAttentionArgs&, const EdgeTerms&);
template void run_dot_attention_backward<bfloat16>(const DotAttentionBackwardArgs&, const EdgeTerms&);
template void run_rest<bfloat16, DotScore>(const char*, const Csr&, const AttentionOperands&, Tensor&,
                                           Tensor&);
template void run_rest_backward<bfloat16, DotScore>(const char*, const Csr&, const Csr&,
                                                    const AttentionOperands&, const Tensor&, Tensor&,
                                                    RestGradients, RestGradients);

}  // namespace adj::kernels::cuda
