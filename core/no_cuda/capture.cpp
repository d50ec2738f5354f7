// Replaces core/cuda/ in a build without CUDA: steps are never captured.
#include <adjoint/core/capture.h>
#include <adjoint/core/error.h>

namespace adj {

struct StepGraph::State {};

StepGraph::StepGraph() = default;
StepGraph::~StepGraph() = default;
StepGraph::StepGraph(StepGraph&&) noexcept = default;
StepGraph& StepGraph::operator=(StepGraph&&) noexcept = default;

bool StepGraph::supported(Device) { return false; }
void StepGraph::begin(Device device, bool /*derives*/) {
  fail("a step cannot be captured on {}: Adjoint was built without CUDA", device.str());
}
void StepGraph::end() { fail("no step is being captured"); }
void StepGraph::abort() noexcept {}
bool StepGraph::capturing() const { return false; }
bool StepGraph::ready() const { return false; }
void StepGraph::replay() { fail("no step was captured"); }

}  // namespace adj
