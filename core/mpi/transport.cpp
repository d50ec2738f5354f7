#include <adjoint/core/detail/descriptor.h>
#include <adjoint/core/detail/exchange_check.h>
#include <adjoint/core/detail/mpi_module.h>
#include <adjoint/core/detail/mpi_transport.h>
#include <adjoint/core/launch.h>
#include <adjoint/core/log.h>
#include <adjoint/core/shared_library.h>
#include <adjoint/core/text.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

extern "C" {
extern const unsigned char adjoint_mpi_library[];
extern const unsigned char adjoint_mpi_library_end[];
}

namespace adj::detail {

namespace mpi {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBeat{250};
constexpr int64_t kPatience = 8;  // seconds without a sign of life
constexpr std::chrono::seconds kStart{60};

/// What MPI is asked, from the module in this program.
const adjoint_mpi_calls& load() {
  static const Descriptor file =
      file_in_memory("adjoint-mpi", {reinterpret_cast<const char*>(adjoint_mpi_library),
                                     static_cast<size_t>(adjoint_mpi_library_end - adjoint_mpi_library)});
  ADJ_CHECK(file.get() >= 0, "MPI cannot be used: no file in memory");
  const SharedLibrary library(fmt::format("/proc/self/fd/{}", file.get()));
  return *library.function<const adjoint_mpi_calls>("adjoint_mpi_module");
}

const adjoint_mpi_calls& module() {
  static const adjoint_mpi_calls& calls = load();
  return calls;
}

void check(int code, const char* call) {
  if (code == 0) return;
  std::array<char, 1024> text{};
  module().describe(code, text.data());
  fail("MPI: {} from {}", text.data(), call);
}

/// Seconds after which a silent rank is taken for lost; 0: never.
int64_t patience() {
  const char* text = std::getenv("ADJOINT_RANK_TIMEOUT");
  if (text == nullptr || *text == '\0') return kPatience;
  const std::optional<int64_t> seconds = number_in<int64_t>(text);
  ADJ_CHECK(seconds && *seconds >= 0, "ADJOINT_RANK_TIMEOUT: expected seconds, got '{}'", excerpt(text));
  return *seconds;
}

/// FNV-1a: the same in every build.
uint64_t hash(std::string_view text) {
  uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return value;
}

/// Equal for blocks that fit.
uint64_t kind_of(const Tensor& block) {
  return block ? hash(block.shape().str() + std::string(name_of(block.dtype()))) : 0;
}

/// Ends this process where MPI does not start: it waits for all others, one of which may have stopped.
class StartLimit {
 public:
  StartLimit() : timer_([this](const std::stop_token& stop) { wait(stop); }) {}

 private:
  void wait(const std::stop_token& stop) {
    std::mutex asleep;
    std::condition_variable_any ended;
    std::unique_lock lock(asleep);
    if (ended.wait_for(lock, stop, kStart, [&] { return stop.stop_requested(); })) return;
    log_line(LogLevel::error,
             fmt::format("rank {}: MPI has not started for {} seconds, expected all {} processes "
                         "to take part",
                         launch().rank, kStart.count(), launch().ranks));
    std::_Exit(1);
  }

  std::jthread timer_;
};

class MpiTransport : public Transport {
 public:
  MpiTransport() {
    int rank = 0, ranks = 0;
    const StartLimit limit;
    check(module().start(&rank, &ranks), "MPI_Init_thread (with MPI_THREAD_MULTIPLE)");
    ADJ_CHECK(
        ranks == launch().ranks,
        "{} processes were started together, but MPI knows {}: expected a launcher of this MPI, such as "
        "its mpirun, or srun --mpi=pmix or pmi2",
        launch().ranks, ranks);
    rank_ = rank;
    ranks_ = ranks;
    listener_ =
        std::jthread([this, seconds = patience()](const std::stop_token& stop) { listen(stop, seconds); });
  }
  /// Waits for all ranks, unless this one has failed.
  ~MpiTransport() override {
    listener_.request_stop();
    listener_.join();
    if (!failed_) (void)module().finish();
  }

  int64_t rank() const override { return rank_; }
  int64_t size() const override { return ranks_; }
  std::string failure() const override { return {}; }  // it ends all processes

  void exchange(std::string_view call, std::span<const Tensor> sends, std::span<Tensor> receives) override {
    agree(call, sends, receives);
    std::vector<Tensor> outgoing, incoming;  // on the host
    std::vector<adjoint_mpi_block> sent, received;
    for (size_t p = 0; p < sends.size(); ++p) {
      const bool local = std::cmp_equal(p, rank_);
      outgoing.push_back(sends[p] && !local ? sends[p].to(Device::cpu()) : Tensor());
      incoming.push_back(receives[p] && receives[p].device().is_cuda() && !local
                             ? Tensor::empty(receives[p].shape(), receives[p].dtype())
                             : receives[p]);
      sent.push_back(outgoing[p] ? adjoint_mpi_block{const_cast<void*>(outgoing[p].raw_data()),
                                                     static_cast<size_t>(outgoing[p].bytes())}
                                 : adjoint_mpi_block{});
      received.push_back(incoming[p] && !local ? adjoint_mpi_block{incoming[p].raw_mutable_data(),
                                                                   static_cast<size_t>(incoming[p].bytes())}
                                               : adjoint_mpi_block{});
    }
    check(module().exchange(sent.data(), received.data()), "MPI_Isend and MPI_Irecv");
    for (size_t p = 0; p < receives.size(); ++p) {
      if (!receives[p]) continue;
      if (std::cmp_equal(p, rank_))
        receives[p].copy_(sends[p]);
      else if (receives[p].device().is_cuda())
        receives[p].copy_(incoming[p]);
    }
  }

  std::vector<Tensor> share(std::string_view call, const Tensor&) override {
    fail("{}: these ranks are processes, which do not see each other's memory; expected threads of one",
         call);
  }
  /// Every rank sees the hashes of all calls and blocks, and asks for the texts only if two differ.
  std::vector<void*> agree(std::string_view call, std::span<const Tensor> sends,
                           std::span<const Tensor> receives) override {
    const size_t ranks = sends.size(), numbers = 1 + 2 * ranks;
    std::vector<uint64_t> mine{hash(call)}, all(numbers * ranks);
    for (const Tensor& block : sends) mine.push_back(kind_of(block));
    for (const Tensor& block : receives) mine.push_back(kind_of(block));
    gather(mine.data(), all.data(), mine.size() * sizeof(uint64_t));
    const auto number = [&](size_t p, size_t k) { return all[numbers * p + k]; };
    for (size_t p = 1; p < ranks; ++p)
      if (number(p, 0) != number(0, 0)) {
        const std::vector<std::string> calls = texts(std::string(call));
        fail_calls(p, calls[p], calls[0]);
      }
    for (size_t p = 0; p < ranks; ++p)
      for (size_t q = 0; q < ranks; ++q)
        if (number(p, 1 + q) != number(q, 1 + ranks + p)) {
          const std::vector<std::string> sent = texts(text_of(sends[q])),
                                         wanted = texts(text_of(receives[p]));
          fail_blocks(p, sent[p], q, wanted[q]);
        }
    return {};
  }

  void leave() { failed_ = true; }

 private:
  static void gather(const void* mine, void* all, size_t bytes) {
    check(module().gather(mine, all, static_cast<int>(bytes)), "MPI_Allgather");
  }
  std::vector<std::string> texts(const std::string& mine) const {
    const auto ranks = static_cast<size_t>(ranks_);
    const uint64_t length = mine.size();
    std::vector<uint64_t> lengths(ranks);
    gather(&length, lengths.data(), sizeof length);
    const size_t longest = std::ranges::max(lengths);
    std::string padded = mine, all(longest * ranks, '\0');
    padded.resize(longest);
    gather(padded.data(), all.data(), longest);
    std::vector<std::string> found;
    for (size_t p = 0; p < ranks; ++p) found.push_back(all.substr(p * longest, lengths[p]));
    return found;
  }

  /// Sends signs of life to the next rank, and ends all if none comes from the rank before; at the end both
  /// say that they have sent their last.
  void listen(const std::stop_token& stop, int64_t seconds) {
    auto last = steady_clock::now();
    for (int sent = 0, heard = 0; (sent < 2 || heard < 2) && !failed_;) {
      if (module().beat(stop.stop_requested() ? 1 : 0, &sent, &heard) != 0) return;
      const auto now = steady_clock::now();
      if (heard != 0) last = now;
      if (seconds > 0 && now - last > std::chrono::seconds(seconds))
        lose((rank_ + ranks_ - 1) % ranks_, seconds);
      std::this_thread::sleep_for(stop.stop_requested() ? std::chrono::milliseconds(1) : kBeat);
    }
  }
  [[noreturn]] static void lose(int64_t rank, int64_t seconds) {
    log_line(LogLevel::error, fmt::format("rank {} has given no sign of life for {} seconds: all ranks end "
                                          "(ADJOINT_RANK_TIMEOUT)",
                                          rank, seconds));
    module().abort(1);
    std::abort();
  }

  int64_t rank_ = 0, ranks_ = 1;
  std::atomic<bool> failed_ = false;
  std::jthread listener_;
};

const std::shared_ptr<MpiTransport>& transport() {
  static const auto started = std::make_shared<MpiTransport>();
  return started;
}

}  // namespace

}  // namespace mpi

std::shared_ptr<Transport> mpi_transport() { return mpi::transport(); }
void leave_mpi() { mpi::transport()->leave(); }

}  // namespace adj::detail
