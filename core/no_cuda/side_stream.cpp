// Replaces core/cuda/ in a build without CUDA: there is no GPU beside which a branch could run.
#include <adjoint/core/side_stream.h>

namespace adj {

struct SideStream::State {};

SideStream::SideStream(Device) {}
void SideStream::run(const std::function<void()>& work) const { work(); }
void SideStream::join() const {}

}  // namespace adj
