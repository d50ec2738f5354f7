#include "../support.h"
#include <adjoint/core/parallel.h>
#include <adjoint/data/loader/prefetch.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

using namespace adj;
using namespace adj::test;

namespace {

void nap(int64_t i) { std::this_thread::sleep_for(std::chrono::microseconds(i * 7919 % 500)); }

}  // namespace

TEST_CASE("items come in order, each once, whatever the workers") {
  for (int workers : {0, 1, 2, 5})
    for (int ahead : {1, 3})
      for (int64_t count : {0, 1, 4, 100}) {
        Prefetcher<int64_t> items(count,
                                  [](int64_t i) {
                                    nap(i);
                                    return 3 * i;
                                  },
                                  {.workers = workers, .ahead = ahead});
        int64_t expected = 0;
        for (const int64_t item : items) CHECK(item == 3 * expected++);
        CHECK(expected == count);
        CHECK_FALSE(items.next());
      }
}

TEST_CASE("no more are made ahead than were asked for") {
  std::atomic<int64_t> made{0};
  int64_t taken = 0;
  Prefetcher<std::vector<int>> items(50,
                                     [&](int64_t) {
                                       ++made;
                                       return std::vector<int>(3);
                                     },
                                     {.workers = 2, .ahead = 2});
  while (auto item = items.next()) {
    ++taken;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(made <= taken + 4);
    CHECK(item->size() == 3);
  }
  CHECK(taken == 50);
}

TEST_CASE("what making an item throws is thrown in its place") {
  for (int workers : {0, 1, 4}) {
    Prefetcher<int64_t> items(20,
                              [](int64_t i) {
                                nap(20 - i);
                                if (i == 7 || i == 9) throw std::runtime_error(fmt::format("item {}", i));
                                return i;
                              },
                              {.workers = workers});
    for (int64_t i = 0; i < 7; ++i) CHECK(items.next() == i);
    CHECK_THROWS_WITH_AS(items.next(), "item 7", std::runtime_error);
    CHECK_FALSE(items.next());
  }
}

TEST_CASE("a loop that is left early, or by an error, ends the workers") {
  std::atomic<int> alive{0};
  for (int workers : {1, 3}) {
    const auto loop = [&] {
      Prefetcher<int> items(1'000'000,
                            [&](int64_t i) {
                              ++alive;
                              nap(i);
                              --alive;
                              return static_cast<int>(i);
                            },
                            {.workers = workers});
      for (const int item : items) {
        if (item == 3 && workers == 1) break;
        if (item == 3) throw std::runtime_error("enough");
      }
    };
    if (workers == 1)
      loop();
    else
      CHECK_THROWS_AS(loop(), std::runtime_error);
    CHECK(alive == 0);
  }
}

TEST_CASE("several workers compute on one thread each") {
  const Threads threads(4);
  Prefetcher<bool> items(8,
                         [](int64_t) {
                           const auto own = std::this_thread::get_id();
                           std::atomic<bool> alone{true};
                           parallel_for(64, 1, [&](int64_t, int64_t) {
                             if (std::this_thread::get_id() != own) alone = false;
                           });
                           return alone.load();
                         },
                         {.workers = 2});
  for (const bool alone : items) CHECK(alone);
}

TEST_CASE("tensors made ahead are whole when they are taken, on every device") {
  for (Device device : devices()) {
    const Tensor base = random_tensor({300, 70}, DType::f32, device);
    Prefetcher<Tensor> items(40,
                             [&](int64_t i) {
                               Tensor copy = base.clone();
                               for (int64_t k = 0; k < i; ++k) copy = copy.clone();
                               return copy;
                             },
                             {.workers = 3, .device = device});
    for (const Tensor& item : items) CHECK(same_bits(item.clone(), base));
  }
}

TEST_CASE("options out of range are errors") {
  const auto make = [](int64_t i) { return i; };
  CHECK_THROWS_AS(Prefetcher<int64_t>(3, make, {.workers = -1}), Error);
  CHECK_THROWS_AS(Prefetcher<int64_t>(3, make, {.workers = 1, .ahead = 0}), Error);
}
