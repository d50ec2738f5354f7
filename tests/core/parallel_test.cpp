#include "../support.h"
#include <adjoint/core/cores.h>
#include <adjoint/core/file.h>
#include <adjoint/core/parallel.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace adj;
using namespace adj::test;

namespace {

std::set<std::pair<int64_t, int64_t>> cuts(int64_t n, int64_t grain, int count) {
  const Threads threads(count);
  std::set<std::pair<int64_t, int64_t>> seen;
  std::mutex mutex;
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    CHECK(seen.insert({begin, end}).second);
  });
  return seen;
}

/// Long enough for other threads to join, and not optimised away by a compiler.
void wait_for(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}
void dawdle() { wait_for(std::chrono::microseconds(50)); }

int64_t threads_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

/// The result of f in a forked child, which has one thread and no workers.
template <class F>
bool holds_in_child(F f) {
  return exit_status_of([&] {
           alarm(120);  // rather than hang
           return f() ? 0 : 1;
         }) == 0;
}

/// Counts the threads that are in f at once, at most.
struct Crowd {
  std::atomic<int> now{0}, most{0};

  template <class F>
  void joined(F f) {
    const int current = ++now;
    int seen = most;
    while (current > seen && !most.compare_exchange_weak(seen, current)) continue;
    f();
    --now;
  }
};

}  // namespace

TEST_CASE("parallel_for covers the range once, in chunks that depend only on n and grain") {
  for (int count : {1, 2, 4, 16}) {
    CHECK(cuts(0, 3, count).empty());
    CHECK(cuts(10, 3, count) == std::set<std::pair<int64_t, int64_t>>{{0, 3}, {3, 6}, {6, 9}, {9, 10}});
    CHECK(cuts(10, 10, count) == std::set<std::pair<int64_t, int64_t>>{{0, 10}});
    CHECK(cuts(2, 0, count) == std::set<std::pair<int64_t, int64_t>>{{0, 1}, {1, 2}});
    CHECK(cuts(1000, 1, count).size() == 1000);
  }
}

TEST_CASE("parallel_for rethrows the first chunk's exception, and works afterwards") {
  for (int count : {1, 2, 4, 16}) {
    const Threads threads(count);
    for (int again = 0; again < 20; ++again) {
      CHECK_ERROR(parallel_for(100, 1,
                               [](int64_t begin, int64_t) {
                                 dawdle();
                                 ADJ_CHECK(begin % 40 != 17, "row {} is bad", begin);
                               }),
                  "row 17 is bad");
      std::atomic<int64_t> sum{0};
      parallel_for(100, 1, [&](int64_t begin, int64_t) { sum += begin; });
      CHECK(sum == 4950);
    }
  }
}

TEST_CASE("parallel_for inside parallel_for runs on its caller's thread") {
  const Threads threads(4);
  std::atomic<int64_t> sum{0};
  parallel_for(8, 1, [&](int64_t outer, int64_t) {
    int64_t count = 0;  // no lock: one thread
    parallel_for(100, 7, [&](int64_t begin, int64_t end) { count += end - begin; });
    sum += count * (outer + 1);
  });
  CHECK(sum == 3600);
}

TEST_CASE("set_num_threads") {
  const Threads threads(3);
  CHECK(num_threads() == 3);
  for (int wrong : {0, -1, kMaxThreads + 1, 100000}) CHECK_THROWS_AS(set_num_threads(wrong), Error);
  CHECK(num_threads() == 3);
}

TEST_CASE("a long loop uses as many threads as set_num_threads allows, whichever thread calls it") {
  const Threads restored(1);
  for (int count : {1, 2, 3, 5}) {
    CAPTURE(count);
    std::thread([&] { set_num_threads(count); }).join();
    CHECK(num_threads() == count);
    Crowd crowd;
    parallel_for(400, 1,
                 [&](int64_t, int64_t) { crowd.joined([] { wait_for(std::chrono::microseconds(500)); }); });
    CHECK(crowd.most <= count);
    if (count > 1) CHECK(crowd.most > 1);
  }
}

TEST_CASE("a thread that has finished its own part of a loop helps with the others") {
  const Threads threads(4);
  Crowd crowd;
  parallel_for(400, 1, [&](int64_t begin, int64_t) {
    if (begin >= 100) return;  // all the work lies in the caller's part
    crowd.joined([] { wait_for(std::chrono::microseconds(500)); });
  });
  CHECK(crowd.most > 1);
  CHECK(crowd.most <= 4);
}

TEST_CASE("a short loop wakes no other thread") {
  const Threads threads(4);
  CHECK(holds_in_child([] {
    for (int again = 0; again < 100; ++again) parallel_for(2, 1, [](int64_t, int64_t) {});
    return threads_of_process() == 1;
  }));
}

TEST_CASE("concurrent loops of several threads share one limit") {
  constexpr int kUsers = 4;
  for (int count : {2, 4, 6}) {
    CAPTURE(count);
    const Threads threads(count);
    CHECK(holds_in_child([count] {
      Crowd crowd;
      std::atomic<int64_t> sum{0};
      std::atomic<bool> too_many{false};
      in_threads(kUsers, [&](int) {
        for (int loop = 0; loop < 50; ++loop)
          parallel_for(64, 1, [&](int64_t begin, int64_t end) {
            crowd.joined([&] {
              dawdle();
              sum += end - begin;
              if (begin == 32 && threads_of_process() > 1 + kUsers + count - 1) too_many = true;
            });
          });
      });
      // A worker leaves only at its next chunk when another user arrives.
      return sum == kUsers * 50 * 64 && !too_many && crowd.most <= kUsers + count - 1;
    }));
  }
}

TEST_CASE("in a SerialScope loops run on their own thread, in the same chunks") {
  const Threads threads(4);
  const SerialScope outer;
  std::vector<std::pair<int64_t, int64_t>> seen;  // no lock: one thread
  {
    const SerialScope inner;
    parallel_for(10, 3, [&](int64_t begin, int64_t end) { seen.emplace_back(begin, end); });
  }
  CHECK(seen == std::vector<std::pair<int64_t, int64_t>>{{0, 3}, {3, 6}, {6, 9}, {9, 10}});
  const std::thread::id caller = std::this_thread::get_id();
  parallel_for(200, 1, [&](int64_t, int64_t) {
    dawdle();
    CHECK(std::this_thread::get_id() == caller);
  });
}

TEST_CASE("changing the number of threads during loops, beyond the cores, gives correct results") {
  const Threads threads(16);
  std::atomic<bool> stop{false};
  std::thread changer([&] {
    for (int count = 1; !stop; count = count % 16 + 1) set_num_threads(count);
  });
  std::atomic<int64_t> wrong{0};
  in_threads(3, [&](int) {
    for (int64_t loop = 1; loop < 2000; ++loop) {
      std::vector<int64_t> slots(uz(loop % 97 + 2), 0);
      const auto n = static_cast<int64_t>(slots.size());
      parallel_for(n, 1, [&](int64_t begin, int64_t) { slots[uz(begin)] += begin * loop; });
      for (int64_t i = 0; i < n; ++i) wrong += slots[uz(i)] != i * loop;
    }
  });
  stop = true;
  changer.join();
  CHECK(wrong == 0);
}

TEST_CASE("loops with more and fewer parts alternate on any number of threads") {
  // A worker that is late for one loop joins the next.
  std::vector<int64_t> times(400);
  for (int count : {1, 2, 130, 255, 256, 257, 400, 1023, 1024}) {
    CAPTURE(count);
    const Threads threads(count);
    CHECK(holds_in_child([&] {
      for (int64_t loop = 0; loop < 300; ++loop)
        for (int64_t n : {400, 160}) {
          std::fill(times.begin(), times.end(), 0);
          parallel_for(n, 1, [&](int64_t begin, int64_t) {
            if (begin % 64 == 0) dawdle();
            ++times[uz(begin)];
          });
          for (int64_t i = 0; i < 400; ++i)
            if (times[uz(i)] != (i < n)) return false;
        }
      return true;
    }));
  }
}

TEST_CASE("a forked child runs loops with its own threads") {
  const Threads threads(4);
  const auto right = [] {
    std::atomic<int64_t> sum{0};
    parallel_for(200, 1, [&](int64_t begin, int64_t) {
      dawdle();
      sum += begin;
    });
    return sum == 19900;
  };
  CHECK(right());
  for (int again = 0; again < 10; ++again)
    CHECK(holds_in_child([&] { return right() && right() && threads_of_process() > 1; }));
  CHECK(right());
}

TEST_CASE_FIXTURE(InFolder, "the least quota of a control group and its ancestors limits the cores") {
  const std::string root = folder.file("cgroup"), groups = folder.file("groups");
  const auto granted = [&](const std::string& list) {
    replace_file(groups, list);
    return detail::granted_cores(groups, root);
  };
  for (const char* group : {"/a/b", "/cpu/c", "/cpu,cpuacct"})
    std::filesystem::create_directories(root + group);
  const double unlimited = std::numeric_limits<double>::infinity();
  CHECK(granted("0::/a/b\n") == unlimited);
  CHECK(detail::granted_cores(folder.file("missing"), root) == unlimited);
  replace_file(root + "/a/b/cpu.max", "250000 100000\n");
  CHECK(granted("0::/a/b\n") == 2.5);
  CHECK(granted("0::/a\n") == unlimited);
  replace_file(root + "/a/cpu.max", "max 100000\n");
  CHECK(granted("0::/a/b\n") == 2.5);
  replace_file(root + "/a/cpu.max", "75000 50000\n");
  CHECK(granted("0::/a/b\n") == 1.5);
  replace_file(root + "/cpu.max", "400000 100000\n");
  CHECK(granted("0::/\n") == 4.0);
  // Version 1.
  replace_file(root + "/cpu/cpu.cfs_quota_us", "-1\n");
  replace_file(root + "/cpu/cpu.cfs_period_us", "100000\n");
  replace_file(root + "/cpu/c/cpu.cfs_quota_us", "50000\n");
  replace_file(root + "/cpu/c/cpu.cfs_period_us", "100000\n");
  CHECK(granted("4:memory:/m\n3:cpuset:/c\n2:cpu,cpuacct:/c\n") == 0.5);
  CHECK(granted("1:cpu:/\n") == unlimited);
  CHECK(granted("3:cpuset:/c\nno group\n1:cpu:relative\n") == unlimited);
}

TEST_CASE("the default is ADJOINT_NUM_THREADS, else OMP_NUM_THREADS, else the number of cores") {
  CHECK(available_cores() >= 1);
  CHECK(available_cores() <= static_cast<int>(std::thread::hardware_concurrency()));
  CHECK(holds_in_child([] {
    unsetenv("ADJOINT_NUM_THREADS");
    unsetenv("OMP_NUM_THREADS");
    bool good = default_threads() == available_cores();
    setenv("OMP_NUM_THREADS", "3,2", 1);
    good = good && default_threads() == 3;
    setenv("OMP_NUM_THREADS", "many", 1);  // left to OpenMP to report
    good = good && default_threads() == available_cores();
    setenv("OMP_NUM_THREADS", "100000", 1);  // for other libraries, so not refused
    good = good && default_threads() == kMaxThreads;
    setenv("ADJOINT_NUM_THREADS", "5", 1);
    return good && default_threads() == 5;
  }));
  for (const char* bad : {"0", "-1", "x", "2x", "1025", "100000", "99999999999999999999"})
    CHECK(holds_in_child([bad] {
      setenv("ADJOINT_NUM_THREADS", bad, 1);
      try {
        return default_threads() == 0;
      } catch (const Error& error) {
        return std::string(error.what()).find(bad) != std::string::npos;
      }
    }));
}
