// Replaces core/cuda/ in a build without CUDA: GPU tensors cannot exist, and requests throw with the reason.
#include <adjoint/core/error.h>
#include <adjoint/core/runtime.h>

namespace adj::detail {

DeviceRuntime& cuda_runtime(int index) {
  fail("device cuda:{} is not available: {}", index, cuda_unavailable_reason(index));
}
std::string cuda_unavailable_reason(int) { return "Adjoint was built without CUDA"; }
int cuda_device_count() { return 0; }

}  // namespace adj::detail
