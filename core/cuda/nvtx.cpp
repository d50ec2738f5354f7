#include <adjoint/core/profile.h>

#include <nvtx3/nvToolsExt.h>

namespace adj::detail {

void push_nvtx_range(const char* name) { nvtxRangePushA(name); }
void pop_nvtx_range() { nvtxRangePop(); }

}  // namespace adj::detail
