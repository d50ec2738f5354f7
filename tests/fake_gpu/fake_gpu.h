#pragma once

#include <adjoint/core/error.h>
#include <adjoint/core/runtime.h>
#include <adjoint/core/stream.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

namespace adj::test {

struct Mark {
  size_t stream;
  int place;
};

class FakeGpu final : public DeviceRuntime {
 public:
  std::array<int, detail::kMaxStreams> queued{}, done{};
  std::atomic<int> marks{0}, pending_marks{0}, asked{0};  // queries whether a mark is passed
  std::atomic<int> copies{0};                             // host to device
  std::atomic<int> peer_copies{0};                        // device to device
  std::atomic<bool> peers_readable{true};
  size_t held = 0, most = size_t{1} << 30;
  static constexpr uintptr_t kHandles = 1000;  // of stream 0

  void* allocate(size_t bytes) override {
    if (held + bytes > most) return nullptr;
    held += bytes;
    return std::aligned_alloc(4096, bytes);
  }
  void release(void* pointer, size_t bytes) override {
    held -= bytes;
    std::free(pointer);
  }
  void* allocate_pinned(size_t bytes) override {
    return std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  }
  void release_pinned(void* pointer) override { std::free(pointer); }
  void memory_info(size_t* free_bytes, size_t* total_bytes) override {
    *free_bytes = most - held;
    *total_bytes = most;
  }
  void copy_from_host(void* destination, const void* source, size_t bytes) override {
    ++copies;
    std::memcpy(destination, source, bytes);
  }
  void copy_to_host(void* destination, const void* source, size_t bytes) override {
    std::memcpy(destination, source, bytes);
  }
  void copy_within(void* destination, const void* source, size_t bytes) override {
    std::memmove(destination, source, bytes);
  }
  void copy_from_peer(void* destination, Device, const void* source, size_t bytes) override {
    ++peer_copies;
    std::memcpy(destination, source, bytes);
  }
  bool open_peer(Device peer) override { return peer.is_cuda() && peers_readable; }
  void fill_bytes(void* destination, int byte, size_t bytes) override {
    std::memset(destination, byte, bytes);
  }
  void synchronize() override {
    note("synchronize");
    done = queued;
  }
  void synchronize_device() override {
    note("synchronize device");
    done = queued;
  }
  int make_stream() override { return ++last_stream_; }
  void synchronize_stream(int stream) override { done[at(stream)] = queued[at(stream)]; }
  uintptr_t stream_handle(int stream) override { return kHandles + at(stream); }
  void order(uintptr_t later, uintptr_t earlier) override {
    note(fmt::format("{} after {}", later, earlier));
  }
  std::shared_ptr<void> make_current() override {
    note("current");
    return {this, [](FakeGpu* gpu) { gpu->note("not current"); }};
  }
  void* mark(int stream) noexcept override {
    ++marks;
    ++pending_marks;
    return new Mark{at(stream), queued[at(stream)]};
  }
  bool passed(void* mark, bool wait) noexcept override {
    ++asked;
    const auto* entry = static_cast<Mark*>(mark);
    if (wait) done[entry->stream] = std::max(done[entry->stream], entry->place);
    if (done[entry->stream] < entry->place) return false;
    --pending_marks;
    delete entry;
    return true;
  }
  std::shared_ptr<void> allow_in_capture() override { return nullptr; }

  /// What was ordered or waited for since the last call, a line each.
  std::string take_log() {
    const std::lock_guard lock(log_mutex_);
    return std::exchange(log_, "");
  }

 private:
  void note(const std::string& line) {
    const std::lock_guard lock(log_mutex_);
    log_ += line + "\n";
  }
  static size_t at(int stream) { return static_cast<size_t>(stream); }
  int last_stream_ = 0;
  std::mutex log_mutex_;
  std::string log_;
};

/// A GPU in host memory, whose streams advance as a test says.
inline FakeGpu& fake() {
  static auto* instance = new FakeGpu;
  return *instance;
}

/// The number of one of two GPUs that is too old; -1: there is one GPU.
inline int too_old = -1;

}  // namespace adj::test

// In the place of core/no_cuda/.
namespace adj::detail {
DeviceRuntime& cuda_runtime(int) { return test::fake(); }
std::string cuda_unavailable_reason(int index) { return index == test::too_old ? "it is too old" : ""; }
int cuda_device_count() { return test::too_old < 0 ? 1 : 2; }
}  // namespace adj::detail
