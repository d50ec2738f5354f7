#include <adjoint/kernels/compute_options.h>

namespace adj {

ComputeOptions& compute_options() {
  thread_local ComputeOptions options;
  return options;
}

}  // namespace adj
