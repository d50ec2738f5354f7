#include <adjoint/core/error.h>
#include <adjoint/core/runtime.h>

#include <cstdlib>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

namespace adj {

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;

class CpuRuntime final : public DeviceRuntime {
 public:
  void* allocate(size_t bytes) override {
    const bool huge = bytes >= kHugePage;
    void* memory = std::aligned_alloc(huge ? kHugePage : kPage, bytes);
#ifdef MADV_HUGEPAGE
    // Random row gathers miss the TLB with 4 KiB pages. Advice only: failure affects speed only.
    if (memory != nullptr && huge) (void)madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
  }
  void release(void* pointer, size_t) override { std::free(pointer); }
  void* allocate_pinned(size_t bytes) override {
    return allocate(bytes >= kHugePage ? (bytes + kHugePage - 1) / kHugePage * kHugePage : bytes);
  }
  void release_pinned(void* pointer) override { std::free(pointer); }
  void memory_info(size_t* free_bytes, size_t* total_bytes) override {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    *free_bytes = static_cast<size_t>(sysconf(_SC_AVPHYS_PAGES)) * page;
    *total_bytes = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * page;
  }
  void copy_from_host(void* device_pointer, const void* host, size_t bytes) override {
    copy_within(device_pointer, host, bytes);
  }
  void copy_to_host(void* host, const void* device_pointer, size_t bytes) override {
    copy_within(host, device_pointer, bytes);
  }
  void copy_within(void* target, const void* source, size_t bytes) override {
    if (bytes > 0) std::memmove(target, source, bytes);
  }
  void copy_from_peer(void*, Device peer, const void*, size_t) override {
    fail("copy from a peer: {} is none of the CPU", peer.str());
  }
  bool open_peer(Device) override { return false; }
  void fill_bytes(void* pointer, int byte, size_t bytes) override {
    if (bytes > 0) std::memset(pointer, byte, bytes);
  }
  void synchronize() override {}
  void synchronize_device() override {}

  int make_stream() override { return 0; }
  void synchronize_stream(int) override {}
  uintptr_t stream_handle(int) override { return 0; }
  void order(uintptr_t, uintptr_t) override {}
  std::shared_ptr<void> make_current() override { return nullptr; }
  void* mark(int) noexcept override { return nullptr; }
  bool passed(void*, bool) noexcept override { return true; }
  std::shared_ptr<void> allow_in_capture() override { return nullptr; }
};

}  // namespace

DeviceRuntime& runtime(Device device) {
  static auto* cpu = new CpuRuntime;  // never destroyed: threads may run until the process ends
  return device.is_cpu() ? *cpu : detail::cuda_runtime(device.index);
}

}  // namespace adj
