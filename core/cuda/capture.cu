#include <adjoint/core/allocator.h>
#include <adjoint/core/capture.h>
#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/core/runtime.h>

#include <optional>

namespace adj {

namespace {

__global__ void advance_kernel(uint64_t* base, uint64_t streams) {
  cuda::begin_overlapping();
  *base += streams;
}

}  // namespace

// Work is recorded on a stream of its own, and everything it allocates comes from a pool that lives as long
// as the recording: no address in it is ever given to anybody else.
struct StepGraph::State {
  Device device;
  Generator* generator = nullptr;
  uint64_t seed = 0;
  uint64_t streams = 0;  // that one step takes
  Tensor base;           // int64 [1]: the generator's position, as the device knows it
  std::optional<uint64_t> base_value;
  std::shared_ptr<MemoryPool> pool;
  std::optional<MemoryPoolScope> pool_scope;
  std::optional<cuda::CaptureStream> stream_scope;
  cudaStream_t stream = nullptr;
  cudaGraphExec_t executable = nullptr;
  bool recording = false;

  State(Device where, Generator& numbers) : device(where), generator(&numbers), seed(numbers.seed()) {
    base = Tensor::empty({1}, DType::i64, device);
    pool = make_memory_pool(device);
    {
      cuda::use_device(device.index);
      cudaFuncAttributes loaded;  // asking makes sure that the code is on the device before the capture
      ADJ_CUDA_CHECK(cudaFuncGetAttributes(&loaded, advance_kernel));
      const cuda::RelaxedCapture relaxed;
      ADJ_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }
    const cudaError_t status = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (status != cudaSuccess) {
      (void)cudaStreamDestroy(stream);
      cuda::check(status, "cudaStreamBeginCapture", __FILE__, __LINE__);
    }
    recording = true;
    pool_scope.emplace(pool);
    stream_scope.emplace(device.index, stream);
    generator->begin_capture(position());
  }

  ~State() {
    if (recording) {
      cudaGraph_t graph = nullptr;
      (void)stop(&graph);
      if (graph != nullptr) (void)cudaGraphDestroy(graph);
    }
    if (executable != nullptr) (void)cudaGraphExecDestroy(executable);
    (void)cudaGetLastError();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  uint64_t* position() { return reinterpret_cast<uint64_t*>(base.mutable_data<int64_t>()); }

  cudaError_t stop(cudaGraph_t* graph) {
    recording = false;
    if (generator->capturing()) streams = generator->end_capture();
    stream_scope.reset();
    pool_scope.reset();
    const cudaError_t status = cudaStreamEndCapture(stream, graph);
    if (status != cudaSuccess) (void)cudaGetLastError();
    (void)cudaStreamDestroy(stream);
    stream = nullptr;
    return status;
  }
};

StepGraph::StepGraph() = default;
StepGraph::~StepGraph() = default;
StepGraph::StepGraph(StepGraph&&) noexcept = default;
StepGraph& StepGraph::operator=(StepGraph&&) noexcept = default;

bool StepGraph::supported(Device device) { return device.is_cuda(); }

void StepGraph::begin(Device device, Generator& generator) {
  ADJ_CHECK(supported(device), "a step cannot be captured on {}: only a GPU captures steps", device.str());
  state_.reset();
  ADJ_CHECK(!cuda::capturing(device.index) && !generator.capturing(),
            "a step is being captured already, on {}", device.str());
  state_ = std::make_unique<State>(device, generator);
}

void StepGraph::end() {
  ADJ_CHECK(capturing(), "no step is being captured");
  // Whatever fails before the last line ends the capture as the state goes.
  std::unique_ptr<State> state = std::move(state_);
  state->streams = state->generator->end_capture();
  if (state->streams > 0)
    cuda::launch("advance", {.device = state->device.index, .blocks = 1, .threads = 1, .overlaps = true},
                 advance_kernel, state->position(), state->streams);
  cudaGraph_t graph = nullptr;
  const cudaError_t status = state->stop(&graph);
  ADJ_CHECK(status == cudaSuccess && graph != nullptr, "the step could not be captured: {} ({})",
            cudaGetErrorName(status), cudaGetErrorString(status));
  const cudaError_t made = cudaGraphInstantiate(&state->executable, graph, 0);
  (void)cudaGraphDestroy(graph);
  cuda::check(made, "cudaGraphInstantiate", __FILE__, __LINE__);
  ADJ_CUDA_CHECK(cudaGraphUpload(state->executable, cuda::compute_stream(state->device.index)));
  state_ = std::move(state);
}

void StepGraph::abort() noexcept {
  if (capturing()) state_.reset();
}

bool StepGraph::capturing() const { return state_ && state_->recording; }

bool StepGraph::ready() const {
  return state_ && state_->executable != nullptr && state_->generator->seed() == state_->seed;
}

void StepGraph::replay() {
  ADJ_CHECK(state_ && state_->executable != nullptr, "no step was captured");
  ADJ_CHECK(ready(), "the generator was seeded anew (with {}) after the step was captured with seed {}",
            state_->generator->seed(), state_->seed);
  State& state = *state_;
  const uint64_t position = state.generator->position();
  if (state.streams > 0 && state.base_value != position)
    runtime(state.device).copy_from_host(state.position(), &position, sizeof(position));
  ADJ_CHECK(!cuda::capturing(state.device.index), "a captured step cannot be replayed within another");
  cuda::use_device(state.device.index);
  ADJ_CUDA_CHECK(cudaGraphLaunch(state.executable, cuda::compute_stream(state.device.index)));
  if (state.streams > 0) {
    state.base_value = position + state.streams;
    state.generator->set_state(state.seed, *state.base_value);
  }
}

}  // namespace adj
