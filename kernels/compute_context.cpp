#include <adjoint/kernels/compute_context.h>

namespace adj {

ComputeContext& compute_context() {
  thread_local ComputeContext context;
  return context;
}

}  // namespace adj
