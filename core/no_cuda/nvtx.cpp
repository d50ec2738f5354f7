// Stands in for core/cuda/ in a build without CUDA: there is no timeline to draw ranges on.
#include <adjoint/core/profile.h>

namespace adj::detail {

void push_nvtx_range(const char*) {}
void pop_nvtx_range() {}

}  // namespace adj::detail
