#include <adjoint/core/cuda/check.h>
#include <adjoint/core/cuda/nccl.h>
#include <adjoint/core/cuda/stream.h>
#include <adjoint/core/detail/nccl_transport.h>
#include <adjoint/core/runtime.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace adj::cuda::nccl {

namespace {

/// Bytes of a block from which it goes by the copy engines. These leave all processors to the kernels beside
/// and are faster (H200s, NV18: 391 GB/s, NCCL 353; a product of 128 columns beside 7.55 ms, 7.97,
/// alone 7.28), but two messages of NCCL, tens of microseconds, tell when they may begin and have ended.
constexpr int64_t kLeastCopied = int64_t{4} << 20;

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
  NcclTransport(std::shared_ptr<Transport> host, Device device, std::span<const Device> devices)
      : host_(std::move(host)), device_(device) {
    const DeviceScope scope(device_.index);
    const auto reaches = [&](Device other) { return other == device_ || runtime(device_).open_peer(other); };
    const Tensor alone =
        Tensor::from(std::vector<uint8_t>{!devices.empty() && std::ranges::all_of(devices, reaches)});
    const std::vector<uint8_t> all = Group(host_).gather(alone).to_vector<uint8_t>();
    if (std::ranges::all_of(all, [](uint8_t one) { return one != 0; }))
      signals_ = Tensor::zeros({size() + 1}, DType::u8, device_);
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
  std::vector<void*> agree(std::string_view call, std::span<const Tensor> sends,
                           std::span<const Tensor> receives) override {
    return host_->agree(call, sends, receives);
  }
  std::vector<Tensor> share(std::string_view call, const Tensor& x) override { return host_->share(call, x); }

  void exchange(std::string_view call, std::span<const Tensor> sends, std::span<Tensor> receives) override {
    const auto on_host = [](std::span<const Tensor> blocks) {
      return std::ranges::none_of(blocks, [](const Tensor& x) { return x && x.device().is_cuda(); });
    };
    if (on_host(sends) && on_host(receives)) return host_->exchange(call, sends, receives);
    queue(
        call, sends, receives, [&](const Tensor& x) { return signals_ && x && x.bytes() >= kLeastCopied; },
        [&](size_t p, void* target) {
          return cudaMemcpyAsync(target, sends[p].raw_data(), static_cast<size_t>(sends[p].bytes()),
                                 cudaMemcpyDefault, current_stream(device_.index));
        });
    const auto local = static_cast<size_t>(rank());
    const DeviceScope scope(device_.index);
    if (sends[local]) receives[local].copy_(sends[local]);
  }

  bool takes_columns() const override { return static_cast<bool>(signals_); }
  void exchange_columns(std::string_view call, std::span<const Tensor> sends, ColumnRange columns,
                        std::span<Tensor> receives) override {
    std::vector<Tensor> blocks;  // as they arrive, to agree on
    for (const Tensor& x : sends)
      blocks.push_back(
          x ? x.reshape({x.numel()}).rows(0, x.size(0) * columns.count).reshape({x.size(0), columns.count})
            : x);
    queue(
        call, blocks, receives, [](const Tensor& x) { return x && x.numel() > 0; },
        [&](size_t p, void* target) {
          const Tensor& x = sends[p];
          const size_t element = size_of(x.dtype()), width = static_cast<size_t>(columns.count) * element;
          return cudaMemcpy2DAsync(
              target, width,
              static_cast<const char*>(x.raw_data()) + static_cast<size_t>(columns.begin) * element,
              static_cast<size_t>(x.size(1)) * element, width, static_cast<size_t>(x.size(0)),
              cudaMemcpyDefault, current_stream(device_.index));
        });
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

  /// One pair of a send and a receive for each peer, in one group. Blocks that it `copies` go by copy(p,
  /// target) into rank p's memory, behind a message from there that it may be written, and before one that it
  /// is.
  template <class Copies, class Copy>
  void queue(std::string_view call, std::span<const Tensor> sends, std::span<Tensor> receives,
             Copies&& copies, Copy&& copy) {
    const std::vector<void*> targets = agree(call, sends, receives);
    const std::lock_guard lock(mutex_);
    if (communicator_ == nullptr) throw GroupError(failure());
    const DeviceScope scope(device_.index);
    const auto in_group = [&](const auto& pair) {
      check(library().ncclGroupStart(), "ncclGroupStart");
      for (size_t p = 0; p < sends.size(); ++p)
        if (std::cmp_not_equal(p, rank())) pair(p);
      check(library().ncclGroupEnd(), "ncclGroupEnd", communicator_);
    };
    bool any_copied = false;
    in_group([&](size_t p) {
      any_copied = any_copied || copies(sends[p]) || copies(receives[p]);
      copies(sends[p]) ? receive_signal(p) : send(p, sends[p]);
      copies(receives[p]) ? send_signal(p) : receive(p, receives[p]);
    });
    if (!any_copied) return;
    for (int64_t k = 1; k < size(); ++k)  // no two ranks write to one at a time
      if (const auto p = static_cast<size_t>((rank() + k) % size()); copies(sends[p]))
        ADJ_CUDA_CHECK(copy(p, targets[p]));
    in_group([&](size_t p) {
      if (copies(sends[p])) send_signal(p);
      if (!copies(receives[p])) return;
      receive_signal(p);
      (void)receives[p].raw_mutable_data();  // another rank has written it
    });
  }
  void send(size_t p, const void* data, size_t bytes) {
    check(library().ncclSend(data, bytes, DataType::bytes, static_cast<int>(p), communicator_,
                             current_stream(device_.index)),
          "ncclSend", communicator_);
  }
  void receive(size_t p, void* data, size_t bytes) {
    check(library().ncclRecv(data, bytes, DataType::bytes, static_cast<int>(p), communicator_,
                             current_stream(device_.index)),
          "ncclRecv", communicator_);
  }
  void send(size_t p, const Tensor& block) {
    if (block && block.numel() > 0) send(p, block.raw_data(), static_cast<size_t>(block.bytes()));
  }
  void receive(size_t p, Tensor& target) {
    if (target && target.numel() > 0)
      receive(p, target.raw_mutable_data(), static_cast<size_t>(target.bytes()));
  }
  void send_signal(size_t p) { send(p, signals_.data<uint8_t>() + size(), 1); }
  void receive_signal(size_t p) { receive(p, signals_.mutable_data<uint8_t>() + p, 1); }

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
  Tensor signals_;  // [ranks + 1]: what they say, of no meaning, and what this rank says; absent: no copies
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

std::shared_ptr<Transport> nccl_transport(std::shared_ptr<Transport> host, Device device,
                                          std::span<const Device> devices) {
  return std::make_shared<cuda::nccl::NcclTransport>(std::move(host), device, devices);
}

}  // namespace adj::detail
