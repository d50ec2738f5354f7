#include "../support.h"
#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>

#include <atomic>
#include <mutex>
#include <set>
#include <vector>

#include <doctest/doctest.h>

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

}  // namespace

TEST_CASE("parallel_for covers the range once, in chunks that depend on n and grain alone") {
  for (int count : {1, 2, 4}) {
    CHECK(cuts(0, 3, count).empty());
    CHECK(cuts(10, 3, count) == std::set<std::pair<int64_t, int64_t>>{{0, 3}, {3, 6}, {6, 9}, {9, 10}});
    CHECK(cuts(10, 10, count) == std::set<std::pair<int64_t, int64_t>>{{0, 10}});
    CHECK(cuts(2, 0, count) == std::set<std::pair<int64_t, int64_t>>{{0, 1}, {1, 2}});
    CHECK(cuts(1000, 1, count).size() == 1000);
  }
}

TEST_CASE("parallel_for rethrows what a chunk threw, and works afterwards") {
  for (int count : {1, 2, 4}) {
    const Threads threads(count);
    CHECK_THROWS_WITH_AS(
        parallel_for(100, 1, [](int64_t begin, int64_t) { ADJ_CHECK(begin != 77, "row {} is bad", begin); }),
        "row 77 is bad", Error);
    std::atomic<int64_t> sum{0};
    parallel_for(100, 1, [&](int64_t begin, int64_t) { sum += begin; });
    CHECK(sum == 4950);
  }
}

TEST_CASE("parallel_for inside parallel_for runs on its caller's thread") {
  const Threads threads(4);
  std::atomic<int64_t> sum{0};
  parallel_for(8, 1, [&](int64_t outer, int64_t) {
    int64_t here = 0;  // no lock: one thread
    parallel_for(100, 7, [&](int64_t begin, int64_t end) { here += end - begin; });
    sum += here * (outer + 1);
  });
  CHECK(sum == 3600);
}

TEST_CASE("set_num_threads") {
  const Threads threads(3);
  CHECK(num_threads() == 3);
  CHECK_THROWS_AS(set_num_threads(0), Error);
  CHECK(num_threads() == 3);
}
