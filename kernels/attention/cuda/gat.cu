// GAT: the passes of forward.cuh and backward.cuh, with logits from one scalar per target and one per source.
// Saved: lse and O. Recomputed: the logits.

#include <adjoint/kernels/attention/cuda/strategies.h>
#include <adjoint/kernels/attention/gat.h>
#include <adjoint/kernels/cuda/launch.cuh>

namespace adj::kernels::cuda {

void gat(const GatArgs& args) {
  if (args.tiles) return gat_over_tiles(args);
  dispatch_features(args.x.dtype(), [&]<class S>() { run_gat<S>(args); });
}

void gat_backward(const GatBackwardArgs& args) {
  if (args.tiles) return gat_backward_over_tiles(args);
  dispatch_features(args.x.dtype(), [&]<class S>() { run_gat_backward<S>(args); });
}

}  // namespace adj::kernels::cuda
