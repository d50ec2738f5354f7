#include "../support.h"

#include <chrono>

#include <sys/wait.h>
#include <unistd.h>

using namespace adj;
using namespace adj::test;

namespace {

/// Item i: numbers of its generator.
std::vector<float> item(int64_t i) {
  Generator generator = Generator(7).split(static_cast<uint64_t>(i));
  return random_normal({100 + i % 7}, 0.0, 1.0, generator).to_vector<float>();
}

std::vector<std::vector<float>> all(Prefetcher<std::vector<float>>& prefetcher) {
  std::vector<std::vector<float>> items;
  for (const auto& one : prefetcher) items.push_back(one);
  return items;
}

void pause(int64_t i) { std::this_thread::sleep_for(std::chrono::microseconds(i % 3 * 200)); }

}  // namespace

TEST_CASE("items arrive in order, the same for any workers and threads") {
  std::vector<std::vector<float>> expected;
  for (int64_t i = 0; i < 40; ++i) expected.push_back(item(i));
  for (int threads : {1, 3}) {
    const Threads scope(threads);
    for (int workers : {0, 1, 2, 5, 64})
      for (int64_t depth : {0, 1, 3}) {
        CAPTURE(workers);
        CAPTURE(depth);
        Prefetcher<std::vector<float>> items(40,
                                             [](int64_t i) {
                                               pause(i * 7);
                                               return item(i);
                                             },
                                             {.workers = workers, .depth = depth});
        CHECK(items.size() == 40);
        CHECK(all(items) == expected);
        CHECK_FALSE(items.next());
        CHECK_FALSE(items.next());
      }
  }
}

TEST_CASE("at most `depth` items exist ahead of their use") {
  for (int workers : {1, 3}) {
    std::atomic<int64_t> begun = 0;
    Prefetcher<int64_t> items(50, [&](int64_t i) { return ++begun, i; }, {.workers = workers, .depth = 4});
    for (int64_t i = 0; i < 50; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      CHECK(begun <= i + 4);
      CHECK(items.next() == i);
    }
    CHECK(begun == 50);
  }
  // Without workers items are made on request.
  int64_t count = 0;
  Prefetcher<int64_t> lazy(5, [&](int64_t i) { return ++count, i; });
  CHECK(count == 0);
  CHECK(lazy.next() == 0);
  CHECK(count == 1);
}

TEST_CASE("a fork waits for items in progress, and the child has none of the parent's") {
  for (int workers : {1, 3}) {
    std::atomic<int> inside = 0;
    const auto slow = [&](int64_t i) {
      ++inside;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      --inside;
      return i;
    };
    auto items = std::make_unique<Prefetcher<int64_t>>(100, slow, PrefetchOptions{.workers = workers});
    CHECK(items->next() == 0);
    pause_prefetching();
    for (int look = 0; look < 10; ++look) {
      CHECK(inside == 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      forget_prefetching();
      bool good = error_of<Error>([&] { items->next(); }).find("forked") != std::string::npos;
      items.reset();
      Prefetcher<int64_t> fresh(5, [](int64_t i) { return i; }, {.workers = workers});
      for (int64_t i = 0; i < 5; ++i) good = good && fresh.next() == i;
      _exit(good ? 0 : 1);
    }
    resume_prefetching();
    for (int64_t i = 1; i < 100; ++i) CHECK(items->next() == i);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
}

TEST_CASE("workers that are paused end with their prefetcher") {
  auto items = std::make_unique<Prefetcher<int64_t>>(
      100, [](int64_t i) { return i; }, PrefetchOptions{.workers = 2});
  CHECK(items->next() == 0);
  pause_prefetching();
  items.reset();
  resume_prefetching();
}

TEST_CASE("a depth above the number of items has no effect") {
  std::atomic<bool> first_taken = false;
  Prefetcher<int64_t> items(4,
                            [&](int64_t i) {
                              if (i == 1)
                                first_taken.wait(false);  // so that items remain after one was dropped
                              return i;
                            },
                            {.workers = 1, .depth = std::numeric_limits<int64_t>::max()});
  CHECK(items.next() == 0);
  first_taken = true;
  first_taken.notify_all();
  for (int64_t i = 1; i < 4; ++i) CHECK(items.next() == i);
}

TEST_CASE("an item's exception is thrown at its position, and ends the sequence") {
  for (int workers : {0, 1, 4}) {
    CAPTURE(workers);
    std::atomic<int> after = 0;
    Prefetcher<int64_t> items(1000,
                              [&](int64_t i) {
                                if (i == 7) {
                                  pause(2);
                                  fail("item seven");
                                }
                                if (i == 9) fail("item nine");
                                if (i > 100) ++after;
                                return i;
                              },
                              {.workers = workers});
    for (int64_t i = 0; i < 7; ++i) CHECK(items.next() == i);
    CHECK_ERROR(items.next(), "item seven");
    CHECK_FALSE(items.next());
    CHECK(after == 0);
  }
  Prefetcher<int> odd(1, [](int64_t) -> int { throw 5; }, {.workers = 1});
  CHECK_THROWS_AS(odd.next(), int);
}

TEST_CASE("stopping early leaves no threads or items") {
  for (int workers : {0, 1, 3}) {
    const auto counted = std::make_shared<int>(0);
    for (int64_t taken : {0, 1, 5}) {
      Prefetcher<std::shared_ptr<int>> items(100, [&](int64_t) { return counted; }, {.workers = workers});
      for (int64_t i = 0; i < taken; ++i) CHECK(items.next());
    }
    CHECK(counted.use_count() == 1);
    const auto stop = [&] {
      for (const auto& one :
           Prefetcher<std::shared_ptr<int>>(100, [&](int64_t) { return counted; }, {.workers = workers}))
        if (one) fail("the consumer's own");
    };
    CHECK_THROWS_WITH(stop(), "the consumer's own");
    CHECK(counted.use_count() == 1);
  }
}

TEST_CASE("a single worker's loops use all threads, those of several workers one each") {
  const Threads scope(4);
  for (int workers : {1, 2}) {
    Prefetcher<bool> items(2,
                           [](int64_t) {
                             const auto self = std::this_thread::get_id();
                             std::atomic<bool> alone = true;
                             parallel_for(64, 1, [&](int64_t, int64_t) {
                               std::this_thread::sleep_for(std::chrono::milliseconds(1));
                               if (std::this_thread::get_id() != self) alone = false;
                             });
                             return alone.load();
                           },
                           {.workers = workers});
    for (const bool alone : items) CHECK(alone == (workers == 2));
  }
}

TEST_CASE("a prefetcher refuses bad options, and may have no items") {
  const auto make = [](int64_t i) { return i; };
  CHECK_ERROR(Prefetcher<int64_t>(-1, make), "prefetcher: -1 items, expected 0 or more");
  CHECK_THROWS_AS(Prefetcher<int64_t>(3, make, {.workers = -1}), Error);
  CHECK_THROWS_AS(Prefetcher<int64_t>(3, make, {.workers = 100000}), Error);
  CHECK_THROWS_AS(Prefetcher<int64_t>(3, make, {.depth = -2}), Error);
  CHECK_THROWS_AS(Prefetcher<int64_t>(3, make, {.workers = 2, .streams = {Stream()}}), Error);
  for (int workers : {0, 2}) CHECK_FALSE(Prefetcher<int64_t>(0, make, {.workers = workers}).next());
}

TEST_CASE("on a GPU an item is complete when it is returned") {
  for (Device device : devices()) {
    const std::vector<Stream> streams = worker_streams(device, 2);
    CHECK(streams.size() == (device.is_cuda() ? 2 : 0));
    const Tensor base = Tensor::full({1 << 20}, 3.0, DType::f32, device);
    Prefetcher<Tensor> items(20, [&](int64_t) { return base.clone(); }, {.workers = 2, .streams = streams});
    for (const Tensor& one : items) CHECK(same_bits(one, base));
  }
}
