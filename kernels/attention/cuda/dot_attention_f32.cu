#include <adjoint/kernels/attention/cuda/passes.cuh>

namespace adj::kernels::cuda {

template void run_dot_attention<float>(const DotAttentionArgs&, const EdgeTerms&);
template void run_dot_attention_backward<float>(const DotAttentionBackwardArgs&, const EdgeTerms&);

}  // namespace adj::kernels::cuda
