#include <adjoint/autograd/gradient_rollback.h>
#include <adjoint/core/capture.h>
#include <adjoint/core/profile.h>
#include <adjoint/optim/captured_step.h>

namespace adj::optim {

namespace {
// The first call builds lazily computed structures (transposes, normalised adjacencies), the second fills
// caches that keep results from the second use on (propagated features).
constexpr int kEagerCalls = 2;
}  // namespace

struct CapturedStep::Recording {
  StepGraph graph;
  std::vector<Tensor> replaced;  // gradients from before the capture, which the graph reads
  Tensor loss;
};

CapturedStep::CapturedStep(std::function<Var()> step) : CapturedStep(std::move(step), Options{}) {}
CapturedStep::CapturedStep(std::function<Var()> step, Options options)
    : step_(std::move(step)), options_(options) {}
CapturedStep::~CapturedStep() = default;

Tensor CapturedStep::operator()() {
  if (captured()) {
    recording_->graph.replay();
    return recording_->loss;
  }
  if (!options_.capture || profiling() || eager_calls_ < kEagerCalls || !StepGraph::supported(device_)) {
    ++eager_calls_;
    return run();
  }
  auto recording = std::make_unique<Recording>();
  GradientRollback gradients;  // after a failed capture none of them was computed
  recording->graph.begin(device_, options_.derives);
  recording->loss = step_().value();
  recording->graph.end();
  recording->replaced = gradients.keep();
  recording->graph.replay();
  recording_ = std::move(recording);
  return recording_->loss;
}

Tensor CapturedStep::run() {
  const Tensor loss = step_().value();
  device_ = loss.device();
  return loss;
}

void CapturedStep::reset() {
  recording_.reset();
  eager_calls_ = 0;
}

bool CapturedStep::captured() const { return recording_ && recording_->graph.ready(); }

}  // namespace adj::optim
