#include <adjoint/core/group.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/stream.h>

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
  std::span<const Tensor> sends;
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
    changed_.wait(lock, [&] { return round_ != round || !reason_.empty(); });
    if (round_ == round) throw GroupError(reason_);
  }

  /// The rank comes no more. The first reason is that of all others.
  void leave(int64_t rank, const char* failure) {
    const std::lock_guard lock(mutex_);
    if (reason_.empty())
      reason_ = failure != nullptr ? fmt::format("rank {} failed: {}", rank, failure)
                                   : fmt::format("rank {} ended, but others wait for it", rank);
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Offer> offers_;
  std::string reason_;
  int64_t present_ = 0, round_ = 0;
};

class ThreadTransport : public Transport {
 public:
  ThreadTransport(Meeting& meeting, int64_t rank) : meeting_(meeting), rank_(rank) {}

  int64_t rank() const override { return rank_; }
  int64_t size() const override { return std::ssize(meeting_.offers()); }

  void exchange(std::string_view call, std::span<const Tensor> sends, std::span<Tensor> receives) override {
    finish_work(sends);
    finish_work(receives);
    meeting_.bring(rank_, {call, sends});
    meeting_.wait();
    std::exception_ptr failure;  // which leaves only when nobody reads this rank's blocks any longer
    try {
      receive_all(receives);
      finish_work(receives);
    } catch (...) {
      failure = std::current_exception();
    }
    meeting_.wait();
    if (failure) std::rethrow_exception(failure);
  }

 private:
  /// Work on the default stream is ordered already: all threads share it.
  static void finish_work(std::span<const Tensor> tensors) {
    for (const Tensor& x : tensors)
      if (x && Stream::current(x.device()).id() != 0) Stream::current(x.device()).synchronize();
  }
  void receive_all(std::span<Tensor> receives) const {
    const std::vector<Offer>& offers = meeting_.offers();
    for (size_t p = 0; p < offers.size(); ++p)
      ADJ_CHECK(offers[p].call == offers[0].call, "rank {} calls {}, and rank 0 {}: expected the same call",
                p, offers[p].call, offers[0].call);
    for (size_t p = 0; p < offers.size(); ++p)
      receive(offers[p].sends[static_cast<size_t>(rank_)], p, receives[p]);
  }
  void receive(const Tensor& block, size_t p, Tensor& target) const {
    if (!block && !target) return;
    const auto text = [](const Tensor& x) { return x ? x.str() : "nothing"; };
    ADJ_CHECK(block && target && block.shape() == target.shape() && block.dtype() == target.dtype(),
              "rank {} sends {} to rank {}, which expected {}", p, text(block), rank_, text(target));
    target.copy_(block);
  }

  Meeting& meeting_;
  int64_t rank_;
};

}  // namespace

void run_ranks(int64_t ranks, const std::function<void(const Group&)>& run) {
  ADJ_CHECK(ranks >= 1 && ranks <= kMaxThreads, "run_ranks: {} ranks, expected 1 to {}", ranks, kMaxThreads);
  Meeting meeting(ranks);
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
    try {
      run(Group(std::make_shared<ThreadTransport>(meeting, rank)));
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
}

}  // namespace adj
