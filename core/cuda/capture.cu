#include <adjoint/core/allocator.h>
#include <adjoint/core/capture.h>
#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/core/runtime.h>

#include <optional>

namespace adj {

namespace {

using detail::Recorder;

struct Advances {
  uint64_t streams[Recorder::kMaxGenerators];
};

__global__ void advance_kernel(uint64_t* bases, const __grid_constant__ Advances advances) {
  cuda::begin_overlapping();
  bases[threadIdx.x] += advances.streams[threadIdx.x];
}

}  // namespace

// The work is captured on a private stream, and its allocations come from a pool that lives as long as the
// graph: no address in it is given to anybody else. The graph replays on the stream that was current at
// begin(); to the allocator and to per-stream workspaces the work belongs to that stream, also during the
// capture.
struct StepGraph::State {
  Device device;
  Stream home;
  Tensor bases;                     // int64 [kMaxGenerators]: generators' positions on the device
  std::vector<uint64_t> positions;  // their values after the replays queued so far
  std::vector<Recorder::Drawn> drawn;
  std::shared_ptr<MemoryPool> pool;
  std::optional<MemoryPoolScope> pool_scope;
  std::unique_ptr<Recorder> recorder;  // only while capturing
  std::optional<detail::RecorderScope> recorder_scope;
  cudaStream_t stream = nullptr;
  cudaGraphExec_t executable = nullptr;

  explicit State(Device where) : device(where), home(Stream::current(where)) {}

  /// Separate from the constructor, so that after an error the destructor ends what has begun.
  void begin(bool derives) {
    bases = Tensor::empty({static_cast<int64_t>(Recorder::kMaxGenerators)}, DType::i64, device);
    pool = make_memory_pool(device);
    const cuda::DeviceScope device_scope(device.index);
    {
      cudaFuncAttributes loaded;  // the query loads the code to the device before the capture
      ADJ_CUDA_CHECK(cudaFuncGetAttributes(&loaded, advance_kernel));
      const cuda::RelaxedCapture relaxed;
      ADJ_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }
    ADJ_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    recorder = std::make_unique<Recorder>(device, stream, positions_on_device(), derives);
    pool_scope.emplace(pool);
    recorder_scope.emplace(recorder.get());
  }

  ~State() {
    if (stream != nullptr) {
      cudaGraph_t graph = nullptr;
      (void)stop(&graph);
      if (graph != nullptr) (void)cudaGraphDestroy(graph);
    }
    if (executable != nullptr) (void)cudaGraphExecDestroy(executable);
    (void)cudaGetLastError();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  uint64_t* positions_on_device() { return reinterpret_cast<uint64_t*>(bases.mutable_data<int64_t>()); }

  /// Ends the step: the next replay counts from here.
  void advance() {
    drawn = recorder->drawn();
    if (drawn.empty()) return;
    Advances advances{};
    for (size_t i = 0; i < drawn.size(); ++i) advances.streams[i] = drawn[i].streams;
    cuda::launch("advance",
                 {.device = device.index,
                  .blocks = 1,
                  .threads = static_cast<unsigned>(drawn.size()),
                  .overlaps = true},
                 advance_kernel, positions_on_device(), advances);
  }

  cudaError_t stop(cudaGraph_t* graph) {
    recorder_scope.reset();
    recorder.reset();
    pool_scope.reset();
    const cudaError_t status = cudaStreamEndCapture(stream, graph);
    if (status != cudaSuccess) (void)cudaGetLastError();
    (void)cudaStreamDestroy(stream);
    stream = nullptr;
    return status;
  }

  /// Takes the generators' next streams, and updates their positions on the device if they differ.
  void take_streams() {
    if (drawn.empty()) return;
    std::vector<uint64_t> begin;
    for (const Recorder::Drawn& d : drawn) {
      const std::lock_guard lock(d.generator->mutex);
      begin.push_back(d.generator->position);
      d.generator->position += d.streams;
    }
    if (begin != positions)
      runtime(device).copy_from_host(positions_on_device(), begin.data(), begin.size() * sizeof(uint64_t));
    positions = begin;
    for (size_t i = 0; i < drawn.size(); ++i) positions[i] += drawn[i].streams;
  }
};

StepGraph::StepGraph() = default;
StepGraph::~StepGraph() = default;
StepGraph::StepGraph(StepGraph&&) noexcept = default;
StepGraph& StepGraph::operator=(StepGraph&&) noexcept = default;

bool StepGraph::supported(Device device) { return device.is_cuda(); }

void StepGraph::begin(Device device, bool derives) {
  ADJ_CHECK(supported(device), "a step cannot be captured on {}: only a GPU captures steps", device.str());
  state_.reset();
  const Recorder* recording = detail::recorder();
  ADJ_CHECK(recording == nullptr, "a step is being captured already, on {}", recording->device().str());
  auto state = std::make_unique<State>(device);
  state->begin(derives);
  state_ = std::move(state);
}

void StepGraph::end() {
  ADJ_CHECK(capturing(), "no step is being captured");
  // An error before the last line ends the capture when `state` is destroyed.
  std::unique_ptr<State> state = std::move(state_);
  ADJ_CHECK(Stream::current(state->device) == state->home,
            "a step is being captured on {}, and the scope of its stream was left before its end",
            state->device.str());
  const cuda::DeviceScope device_scope(state->device.index);
  state->advance();
  cudaGraph_t graph = nullptr;
  const cudaError_t status = state->stop(&graph);
  ADJ_CHECK(status == cudaSuccess && graph != nullptr, "the step could not be captured: {} ({})",
            cudaGetErrorName(status), cudaGetErrorString(status));
  const cudaError_t result =
      cudaGraphInstantiate(&state->executable, graph, cudaGraphInstantiateFlagUseNodePriority);
  (void)cudaGraphDestroy(graph);
  cuda::check(result, "cudaGraphInstantiate", __FILE__, __LINE__);
  ADJ_CUDA_CHECK(cudaGraphUpload(state->executable, cuda::stream_of(state->device.index, state->home.id())));
  state_ = std::move(state);
}

void StepGraph::abort() noexcept {
  if (capturing()) state_.reset();
}

bool StepGraph::capturing() const { return state_ && state_->recorder; }

bool StepGraph::ready() const {
  if (!state_ || state_->executable == nullptr) return false;
  for (const Recorder::Drawn& d : state_->drawn) {
    const std::lock_guard lock(d.generator->mutex);
    if (d.generator->seed != d.seed) return false;
  }
  return true;
}

void StepGraph::replay() {
  ADJ_CHECK(state_ && state_->executable != nullptr, "no step was captured");
  ADJ_CHECK(ready(), "a generator was reseeded after the step that draws from it was captured");
  ADJ_CHECK(detail::recorder() == nullptr, "a captured step cannot be replayed within another");
  State& state = *state_;
  const Stream current = Stream::current(state.device);
  if (current != state.home) state.home.wait(current);
  {
    const StreamScope at_home(state.home);
    state.take_streams();
    const cuda::DeviceScope device_scope(state.device.index);
    ADJ_CUDA_CHECK(cudaGraphLaunch(state.executable, cuda::current_stream(state.device.index)));
  }
  if (current != state.home) current.wait(state.home);
}

}  // namespace adj
