#include <adjoint/core/cuda/check.h>
#include <adjoint/core/cuda/nccl.h>
#include <adjoint/core/cuda/stream.h>
#include <adjoint/core/detail/nccl_transport.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace adj::cuda::nccl {

namespace {

constexpr int kOldestVersion = 22200;  // 2.22.0, as ncclGetVersion() writes it

void check(Result result, const char* call, Communicator communicator = nullptr) {
  ADJ_CHECK(result == Result::success || result == Result::in_progress, "NCCL: {} from {}: {}",
            library().ncclGetErrorString(result), call, library().ncclGetLastError(communicator));
}

Library load() {
  Library loaded{SharedLibrary("libnccl.so.2")};
  int version = 0;
  (void)loaded.ncclGetVersion(&version);
  ADJ_CHECK(version >= kOldestVersion, "NCCL {}.{} is installed, expected 2.22 or later", version / 10000,
            version / 100 % 100);
  return loaded;
}

class NcclTransport : public Transport {
 public:
  NcclTransport(std::shared_ptr<Transport> host, Device device) : host_(std::move(host)), device_(device) {
    const DeviceScope scope(device_.index);
    const UniqueId id = shared_id();
    try {
      Config config;
      config.blocking = 0;  // making a blocking one cannot be left when another rank fails
      check(library().ncclCommInitRankConfig(&first_, static_cast<int>(size()), id, static_cast<int>(rank()),
                                             &config),
            "ncclCommInitRankConfig");
      wait("ncclCommInitRankConfig");
      config.blocking = 1;  // others start a thread for every exchange
      check(library().ncclCommSplit(first_, 0, static_cast<int>(rank()), &communicator_, &config),
            "ncclCommSplit", first_);
      wait("ncclCommSplit");
    } catch (...) {
      abort();
      throw;
    }
    watchdog_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  }

  ~NcclTransport() override {
    watchdog_.request_stop();
    watchdog_.join();
    const DeviceScope scope(device_.index);
    try {
      if (communicator_ == nullptr || std::uncaught_exceptions() > 0) throw GroupError("this rank fails");
      (void)library().ncclCommDestroy(std::exchange(communicator_, nullptr));
      check(library().ncclCommFinalize(first_), "ncclCommFinalize", first_);
      wait("ncclCommFinalize");
      (void)library().ncclCommDestroy(std::exchange(first_, nullptr));
    } catch (const std::exception&) {  // the reason is thrown where the ranks' work is waited for
      abort();
    }
  }

  int64_t rank() const override { return host_->rank(); }
  int64_t size() const override { return host_->size(); }
  std::string failure() const override { return host_->failure(); }
  bool capturable() const override { return true; }
  void agree(std::string_view call, std::span<const Tensor> sends,
             std::span<const Tensor> receives) override {
    host_->agree(call, sends, receives);
  }
  std::vector<Tensor> share(std::string_view call, const Tensor& x) override { return host_->share(call, x); }

  void exchange(std::string_view call, std::span<const Tensor> sends, std::span<Tensor> receives) override {
    const auto on_host = [](std::span<const Tensor> blocks) {
      return std::ranges::none_of(blocks, [](const Tensor& x) { return x && x.device().is_cuda(); });
    };
    if (on_host(sends) && on_host(receives)) return host_->exchange(call, sends, receives);
    agree(call, sends, receives);
    const std::lock_guard lock(mutex_);
    if (communicator_ == nullptr) throw GroupError(failure());
    const DeviceScope scope(device_.index);
    queue(sends, receives);
    const auto local = static_cast<size_t>(rank());
    if (sends[local]) receives[local].copy_(sends[local]);
  }

 private:
  UniqueId shared_id() {
    Tensor bytes = Tensor::zeros({std::ssize(UniqueId().bytes)}, DType::u8);
    if (rank() == 0) {
      UniqueId id;
      check(library().ncclGetUniqueId(&id), "ncclGetUniqueId");
      std::ranges::copy(id.bytes, bytes.mutable_data<uint8_t>());
    }
    Group(host_).broadcast(bytes, 0);
    UniqueId id;
    std::copy_n(bytes.data<uint8_t>(), bytes.numel(), id.bytes);
    return id;
  }

  /// One pair of a send and a receive for each peer, in one group.
  void queue(std::span<const Tensor> sends, std::span<Tensor> receives) {
    const cudaStream_t stream = current_stream(device_.index);
    check(library().ncclGroupStart(), "ncclGroupStart");
    for (int64_t p = 0; p < size(); ++p) {
      const Tensor& block = sends[static_cast<size_t>(p)];
      Tensor& target = receives[static_cast<size_t>(p)];
      if (p == rank()) continue;
      if (block && block.numel() > 0)
        check(library().ncclSend(block.raw_data(), block.bytes(), DataType::bytes, static_cast<int>(p),
                                 communicator_, stream),
              "ncclSend", communicator_);
      if (target && target.numel() > 0)
        check(library().ncclRecv(target.raw_mutable_data(), target.bytes(), DataType::bytes,
                                 static_cast<int>(p), communicator_, stream),
              "ncclRecv", communicator_);
    }
    check(library().ncclGroupEnd(), "ncclGroupEnd", communicator_);
  }

  /// Until the last call of the first communicator has done its part.
  void wait(const char* call) const {
    for (Result state = Result::in_progress; state == Result::in_progress; std::this_thread::yield()) {
      check(library().ncclCommGetAsyncError(first_, &state), "ncclCommGetAsyncError", first_);
      check(state, call, first_);
      if (const std::string reason = failure(); !reason.empty()) throw GroupError(reason);
    }
  }

  /// Ends the kernels that wait for a rank which has failed. Asks the host alone: queries of events break a
  /// capture.
  void watch(const std::stop_token& stop) {
    std::mutex asleep;
    std::condition_variable_any stopped;
    std::unique_lock lock(asleep);
    while (!stopped.wait_for(lock, stop, std::chrono::milliseconds(200),
                             [&] { return stop.stop_requested(); })) {
      if (failure().empty()) continue;
      // A call may still wait for the failed rank to connect; NCCL ends it when another thread aborts.
      const std::unique_lock use(mutex_, kLongestCall);
      (void)library().ncclCommAbort(std::exchange(communicator_, nullptr));
      return;
    }
  }

  void abort() {
    for (Communicator* one : {&communicator_, &first_})
      if (*one != nullptr) (void)library().ncclCommAbort(std::exchange(*one, nullptr));
  }

  std::shared_ptr<Transport> host_;
  Device device_;
  static constexpr std::chrono::seconds kLongestCall{2};
  std::timed_mutex mutex_;                                 // of communicator_
  Communicator first_ = nullptr, communicator_ = nullptr;  // the second is split off the first
  std::jthread watchdog_;
};

}  // namespace

const Library& library() {
  static const Library functions = load();
  return functions;
}

}  // namespace adj::cuda::nccl

namespace adj::detail {

std::string nccl_unavailable_reason() {
  try {
    (void)cuda::nccl::library();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

std::string gpu_address(Device device) {
  std::array<char, 32> address{};
  ADJ_CUDA_CHECK(cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), device.index));
  return address.data();
}

std::shared_ptr<Transport> nccl_transport(std::shared_ptr<Transport> host, Device device) {
  return std::make_shared<cuda::nccl::NcclTransport>(std::move(host), device);
}

}  // namespace adj::detail
