#include <adjoint/core/allocator.h>
#include <adjoint/core/capture.h>
#include <adjoint/core/error.h>
#include <adjoint/core/runtime.h>

#include <atomic>
#include <utility>

namespace adj {

namespace detail {

namespace {

thread_local Recorder* of_this_thread = nullptr;
std::atomic<uint64_t> last_number{0};

}  // namespace

Recorder::Recorder(Device device, void* stream, const uint64_t* bases, bool derives)
    : device_(device),
      stream_(stream),
      bases_(bases),
      number_(last_number.fetch_add(1) + 1),
      derives_(derives) {}

Recorder::~Recorder() {
  for (const Drawn& drawn : drawn_) {
    const std::lock_guard lock(drawn.generator->mutex);
    --drawn.generator->recordings;
  }
}

RandomKey Recorder::draw(const std::shared_ptr<GeneratorState>& generator) {
  size_t i = 0;
  while (i < drawn_.size() && drawn_[i].generator != generator) ++i;
  if (i == drawn_.size()) {
    ADJ_CHECK(i < kMaxGenerators, "generator: a captured step draws from more than {} generators",
              kMaxGenerators);
    const std::lock_guard lock(generator->mutex);
    drawn_.push_back({generator, generator->seed, 0});
    ++generator->recordings;
  }
  return {drawn_[i].seed, drawn_[i].streams++, bases_ + i};
}

Recorder* recorder() { return of_this_thread; }

RecorderScope::RecorderScope(Recorder* recorder) : outer_(std::exchange(of_this_thread, recorder)) {}
RecorderScope::~RecorderScope() { of_this_thread = outer_; }

void refuse_cpu_in_capture(const char* op) {
  const Recorder* recording = recorder();
  // Only tests record on the CPU.
  ADJ_CHECK(recording == nullptr || recording->device().is_cpu(),
            "{}: a step is being captured on {}; work on the CPU within it would run once and not at replay",
            op, recording->device().str());
}

}  // namespace detail

bool capturing(Device device) {
  const detail::Recorder* recording = detail::recorder();
  return recording != nullptr && recording->device() == device;
}

OutsideCapture::OutsideCapture()
    : outer_(detail::recorder()), used_before_(detail::exchange_used_devices(0)) {
  if (outer_ == nullptr) return;
  allowed_ = runtime(outer_->device()).allow_in_capture();
  pool_ = std::make_unique<MemoryPoolScope>(nullptr);
  recorder_.emplace(nullptr);
}

OutsideCapture::~OutsideCapture() {
  const uint64_t used = detail::exchange_used_devices(0);
  // The device's next user gets the same error.
  try {
    if (outer_ != nullptr) Stream::current(outer_->device()).synchronize();
    int index = 0;
    // Not others: their current streams are those of other ranks, which may wait for this one.
    for (uint64_t devices = detail::devices_with_streams() & used; devices != 0; devices >>= 1, ++index)
      if ((devices & 1) != 0) Stream::current(Device::cuda(index)).synchronize();
  } catch (const Error&) {
  }
  (void)detail::exchange_used_devices(used_before_ | used);
}

}  // namespace adj
