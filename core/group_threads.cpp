#include <adjoint/core/detail/exchange_check.h>
#include <adjoint/core/detail/nccl_transport.h>
#include <adjoint/core/group.h>
#include <adjoint/core/log.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/random.h>
#include <adjoint/core/runtime.h>
#include <adjoint/core/stream.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace adj {

namespace {

/// What one rank brings to an exchange.
struct Offer {
  std::string_view call;
  std::span<const Tensor> sends, receives;
};

/// Where the ranks' threads meet: nobody goes on before all have come, or one has failed or ended.
class Meeting {
 public:
  explicit Meeting(int64_t ranks) : offers_(static_cast<size_t>(ranks)) {}

  const std::vector<Offer>& offers() const { return offers_; }
  void bring(int64_t rank, const Offer& offer) {
    const std::lock_guard lock(mutex_);
    offers_[static_cast<size_t>(rank)] = offer;
  }

  void wait() {
    std::unique_lock lock(mutex_);
    const int64_t round = round_;
    if (++present_ == std::ssize(offers_)) {
      present_ = 0;
      ++round_;
      changed_.notify_all();
      return;
    }
    const auto over = [&] { return round_ != round || ended_; };
    if (spins_) {
      lock.unlock();
      const auto end = std::chrono::steady_clock::now() + kSpin;
      while (!over() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      lock.lock();
    }
    changed_.wait(lock, over);
    if (round_ == round) throw GroupError(reason_);
  }

  /// Why a rank failed; empty if none has.
  std::string failure() const {
    const std::lock_guard lock(mutex_);
    return failed_ ? reason_ : std::string();
  }
  /// The rank comes no more. The first reason is that of all others.
  void leave(int64_t rank, const char* failure) {
    const std::lock_guard lock(mutex_);
    failed_ = failed_ || failure != nullptr;
    if (reason_.empty())
      reason_ = failure != nullptr ? fmt::format("rank {} failed: {}", rank, failure)
                                   : fmt::format("rank {} ended, but others wait for it", rank);
    ended_ = true;
    changed_.notify_all();
  }

 private:
  /// Ranks with a core each come within microseconds of each other; a thread takes longer to wake up.
  static constexpr std::chrono::microseconds kSpin{100};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Offer> offers_;
  std::string reason_;
  bool failed_ = false;
  const bool spins_ = offers_.size() <= std::thread::hardware_concurrency();
  int64_t present_ = 0;
  std::atomic<int64_t> round_ = 0;
  std::atomic<bool> ended_ = false;  ///< whether a rank comes no more
};

class ThreadTransport : public Transport {
 public:
  ThreadTransport(Meeting& meeting, int64_t rank) : meeting_(meeting), rank_(rank) {}

  int64_t rank() const override { return rank_; }
  int64_t size() const override { return std::ssize(meeting_.offers()); }

  std::string failure() const override { return meeting_.failure(); }

  void exchange(std::string_view call, std::span<const Tensor> sends, std::span<Tensor> receives) override {
    meet({call, sends, receives}, [&] {
      check_blocks();
      for (size_t p = 0; p < receives.size(); ++p)
        if (receives[p]) receives[p].copy_(meeting_.offers()[p].sends[static_cast<size_t>(rank_)]);
      finish_work(receives);
    });
  }
  std::vector<void*> agree(std::string_view call, std::span<const Tensor> sends,
                           std::span<const Tensor> receives) override {
    std::vector<void*> targets;
    meet({call, sends, receives}, [&] {
      check_blocks();
      for (const Offer& offer : meeting_.offers()) {
        const Tensor& target = offer.receives[static_cast<size_t>(rank_)];
        targets.push_back(target ? const_cast<void*>(target.raw_data()) : nullptr);
      }
    });
    return targets;
  }
  std::vector<Tensor> share(std::string_view call, const Tensor& x) override {
    std::vector<Tensor> all;
    Stream::current(x.device()).synchronize();  // streams of other devices are not ordered behind it
    meet({call, {&x, 1}, {}}, [&] {
      for (const Offer& offer : meeting_.offers()) all.push_back(offer.sends.front());
    });
    return all;
  }

 private:
  /// `move` runs while all ranks' blocks may be read, if they make the same call.
  template <class Move>
  void meet(const Offer& offer, Move&& move) {
    finish_work(offer.sends);
    finish_work(offer.receives);
    meeting_.bring(rank_, offer);
    meeting_.wait();
    std::exception_ptr failure;  // which leaves only when nobody reads this rank's blocks any longer
    try {
      check_calls();
      move();
    } catch (...) {
      failure = std::current_exception();
    }
    meeting_.wait();
    if (failure) std::rethrow_exception(failure);
  }
  /// Work on the default stream is ordered already: all threads share it.
  static void finish_work(std::span<const Tensor> tensors) {
    for (const Tensor& x : tensors)
      if (x && Stream::current(x.device()).id() != 0) Stream::current(x.device()).synchronize();
  }
  /// Each rank looks at all blocks, so that all fail alike.
  void check_calls() const {
    const std::vector<Offer>& offers = meeting_.offers();
    for (size_t p = 0; p < offers.size(); ++p)
      if (offers[p].call != offers[0].call) detail::fail_calls(p, offers[p].call, offers[0].call);
  }
  void check_blocks() const {
    const std::vector<Offer>& offers = meeting_.offers();
    for (size_t p = 0; p < offers.size(); ++p)
      for (size_t q = 0; q < offers.size(); ++q) check_block(offers[p].sends[q], p, offers[q].receives[p], q);
  }
  static void check_block(const Tensor& block, size_t p, const Tensor& target, size_t q) {
    if (!block && !target) return;
    if (!block || !target || block.shape() != target.shape() || block.dtype() != target.dtype())
      detail::fail_blocks(p, detail::text_of(block), q, detail::text_of(target));
  }

  Meeting& meeting_;
  int64_t rank_;
};

/// run(rank, transport) in a thread for each of `ranks` ranks.
template <class Run>
void run_threads(int64_t ranks, Run&& run) {
  ADJ_CHECK(ranks >= 1 && ranks <= kMaxThreads, "run_ranks: {} ranks, expected 1 to {}", ranks, kMaxThreads);
  Meeting meeting(ranks);
  std::vector<Generators> generators(static_cast<size_t>(ranks), copy_generators());
  std::mutex mutex;
  std::exception_ptr first;
  const auto fail_rank = [&](int64_t rank, const char* reason) {
    {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    }
    meeting.leave(rank, reason);
  };
  const auto run_rank = [&](int64_t rank) {
    const GeneratorScope own_numbers(generators[static_cast<size_t>(rank)]);
    try {
      run(rank, std::make_shared<ThreadTransport>(meeting, rank));
      meeting.leave(rank, nullptr);
    } catch (const std::exception& error) {
      fail_rank(rank, error.what());
    } catch (...) {
      fail_rank(rank, "an unknown exception");
    }
  };
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank) threads.emplace_back(run_rank, rank);
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
  for (const Purpose purpose : kPurposes) {
    const Generator& last = generators[0][static_cast<size_t>(purpose)];
    generator_for(purpose).set_state(last.seed(), last.position());
  }
}

}  // namespace

void run_ranks(int64_t ranks, const std::function<void(const Group&)>& run) {
  run_threads(ranks,
              [&](int64_t, std::shared_ptr<Transport> transport) { run(Group(std::move(transport))); });
}

void run_ranks(std::span<const Device> devices, const std::function<void(const Group&)>& run) {
  ADJ_CHECK(!devices.empty(), "run_ranks: no devices, expected one for each rank");
  std::vector<std::string> gpus;
  for (const Device device : devices) gpus.push_back(device.is_cuda() ? device.str() : "");
  const bool through_nccl = detail::exchange_through_nccl(gpus);
  run_threads(std::ssize(devices), [&](int64_t rank, std::shared_ptr<Transport> transport) {
    const Device device = devices[static_cast<size_t>(rank)];
    const std::shared_ptr<void> current = runtime(device).make_current();
    if (through_nccl) transport = detail::nccl_transport(std::move(transport), device, devices);
    run(Group(std::move(transport), device));
  });
}

}  // namespace adj
