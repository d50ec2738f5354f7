#include <adjoint/kernels/attention/cuda/dot_attention.cuh>

namespace adj::kernels::cuda {

template void run_dot_attention<double>(const DotAttentionArgs&, const EdgeTerms&);
template void run_dot_attention_backward<double>(const DotAttentionBackwardArgs&, const EdgeTerms&);

}  // namespace adj::kernels::cuda
