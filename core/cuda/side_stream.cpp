#include <adjoint/core/cuda/stream.h>
#include <adjoint/core/runtime.h>
#include <adjoint/core/side_stream.h>

#include <exception>
#include <utility>

namespace adj {

struct SideStream::State {
  explicit State(int device) : index(device) {
    const cuda::DeviceScope scope(index);
    const cuda::RelaxedCapture relaxed;
    int lowest = 0, highest = 0;
    ADJ_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    branch = cuda::open_branch(highest);
  }
  ~State() {
    try {
      const cuda::DeviceScope scope(index);
      const cuda::RelaxedCapture relaxed;
      cuda::close_branch(branch);
    } catch (const std::exception&) {  // of a broken device, which the next call reports
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  int index;
  cuda::Branch branch;
};

namespace {
void order(int device, cudaStream_t later, cudaStream_t earlier) {
  runtime(Device::cuda(device))
      .order(reinterpret_cast<uintptr_t>(later), reinterpret_cast<uintptr_t>(earlier));
}
}  // namespace

SideStream::SideStream(Device device) {
  if (device.is_cuda()) state_ = std::make_shared<State>(device.index);
}

void SideStream::run(const std::function<void()>& work) const {
  if (!state_) return work();
  order(state_->index, state_->branch.stream, cuda::current_stream(state_->index));
  const cuda::BranchScope scope(state_->index, state_->branch);
  work();
}

void SideStream::join() const {
  if (state_) order(state_->index, cuda::current_stream(state_->index), state_->branch.stream);
}

}  // namespace adj
