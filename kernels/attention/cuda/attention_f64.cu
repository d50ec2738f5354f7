#include <adjoint/kernels/attention/cuda/passes.cuh>

namespace adj::kernels::cuda {

template void run_gat<double>(const GatArgs&);
template void run_gat_backward<double>(const GatBackwardArgs&);
template void run_gatv2<double>(const Gatv2Args&);
template void run_gatv2_backward<double>(const Gatv2BackwardArgs&);
template void run_dot_attention<double>(const DotAttentionArgs&, const EdgeTerms&);
template void run_dot_attention_backward<double>(const DotAttentionBackwardArgs&, const EdgeTerms&);

}  // namespace adj::kernels::cuda
