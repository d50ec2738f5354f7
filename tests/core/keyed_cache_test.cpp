#include "../support.h"
#include <adjoint/core/keyed_cache.h>

#include <atomic>

using namespace adj;
using namespace adj::test;

TEST_CASE("a cache keeps one object per kind and parameter") {
  KeyedCache cache;
  const auto object = [&](int64_t parameter) {
    return cache.get<int64_t>(parameter, [&] { return new int64_t(parameter); });
  };
  CHECK(*object(3) == 3);
  CHECK(object(3) == object(3));
  CHECK(*object(4) == 4);
  CHECK(*cache.get<std::string>(3, [] { return std::make_unique<std::string>("three"); }) == "three");
  CHECK(*cache.get<int64_t>([] { return new int64_t(9); }) == 9);
  CHECK(*object(0) == 9);  // no parameter is parameter 0
}

TEST_CASE("an entry is found after it is made or put, and not made again") {
  KeyedCache cache;
  CHECK(!cache.find<std::string>(2));
  CHECK_THROWS_AS((void)cache.get<std::string>(2, []() -> std::string* { throw Error("no"); }), Error);
  CHECK(!cache.find<std::string>(2));
  const auto object = cache.get<std::string>(2, [] { return new std::string("made"); });
  CHECK(cache.find<std::string>(2) == object);
  CHECK(!cache.find<std::string>(3));
  CHECK(!cache.find<int64_t>(2));
  cache.put(3, std::string("put"));
  CHECK(*cache.get<std::string>(3, [] { return new std::string("late"); }) == "put");
}

TEST_CASE("a maker may request other objects, and concurrent requests are computed once") {
  KeyedCache cache;
  std::atomic<int> makers = 0;
  const auto chain = [&](const auto& self, int64_t k) -> int64_t {
    return *cache.get<int64_t>(k, [&] {
      ++makers;
      std::this_thread::yield();
      return new int64_t(k == 0 ? 1 : self(self, k - 1) + 1);
    });
  };
  in_threads(8, [&](int t) { CHECK(chain(chain, 20 + t) == 21 + t); });
  CHECK(makers == 28);
}

TEST_CASE("threads that request different objects do not wait for each other") {
  KeyedCache cache;
  std::atomic<bool> started = false, other_made = false;
  std::thread slow([&] {
    (void)cache.get<int>(1, [&] {
      started = true;
      while (!other_made) std::this_thread::yield();  // a deadlock if the other one waited for this
      return new int(1);
    });
  });
  while (!started) std::this_thread::yield();
  CHECK(*cache.get<int>(2, [] { return new int(2); }) == 2);
  other_made = true;
  slow.join();
}

TEST_CASE("after a maker throws, the next caller runs it again") {
  KeyedCache cache;
  Lazy<int> lazy;
  for (int round = 0; round < 2; ++round) {
    CHECK_THROWS_AS((void)cache.get<int>([]() -> int* { fail("no"); }), Error);
    CHECK_THROWS_AS((void)lazy.get([]() -> int { fail("no"); }), Error);
    CHECK(lazy.if_made() == nullptr);
  }
  CHECK(*cache.get<int>([] { return new int(5); }) == 5);
  CHECK(lazy.get([] { return 6; }) == 6);
  CHECK(lazy.get([]() -> int { fail("made already"); }) == 6);
  CHECK(*lazy.if_made() == 6);
}

TEST_CASE("a maker that requests its own result is an error, not a deadlock") {
  KeyedCache cache;
  const auto endless = [&](const auto& self) -> int {
    return *cache.get<int>([&] { return new int(self(self)); });
  };
  CHECK_ERROR((void)endless(endless), "a lazily computed object was requested by its own initializer");
  CHECK(*cache.get<int>([] { return new int(1); }) == 1);
}

TEST_CASE("a lazy value is computed by one thread for all") {
  for (int round = 0; round < 20; ++round) {
    Lazy<std::vector<int>> lazy;
    std::atomic<int> makers = 0;
    in_threads(8, [&](int) {
      CHECK(lazy.get([&] {
                  ++makers;
                  return std::vector<int>(100, 7);
                })
                .size() == 100);
    });
    CHECK(makers == 1);
  }
}
