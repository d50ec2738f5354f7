#include <adjoint/kernels/attention/cuda/dot_attention.cuh>

namespace adj::kernels::cuda {

template void run_dot_attention<bfloat16>(const DotAttentionArgs&, const EdgeTerms&);
template void run_dot_attention_backward<bfloat16>(const DotAttentionBackwardArgs&, const EdgeTerms&, bool);

}  // namespace adj::kernels::cuda
