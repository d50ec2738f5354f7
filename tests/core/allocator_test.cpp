#include "../support.h"
#include <adjoint/core/allocator.h>
#include <adjoint/core/tensor.h>

#include <algorithm>
#include <atomic>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kMiB = 1 << 20;

Tensor bytes(int64_t n, Device device) { return Tensor::empty({n}, DType::u8, device); }

}  // namespace

TEST_CASE("statistics follow live tensors, their peak and the number of requests") {
  for (Device device : devices()) {
    const MemoryStats before = memory_stats(device);
    reset_peak_memory(device);
    CHECK(memory_stats(device).peak == before.current);
    {
      const Tensor a = bytes(3 * kMiB, device);
      const Tensor view = a.rows(0, 5);
      CHECK(memory_stats(device).current - before.current == 3 * kMiB);
      { const Tensor b = bytes(100, device); }  // rounded up to 256
      const MemoryStats now = memory_stats(device);
      CHECK(now.current - before.current == 3 * kMiB);
      CHECK(now.peak - before.current == 3 * kMiB + 256);
      CHECK(now.allocations - before.allocations == 2);
      CHECK(now.reserved >= now.current);
    }
    CHECK(memory_stats(device).current == before.current);
    CHECK(memory_stats(device).peak - before.current == 3 * kMiB + 256);
  }
}

TEST_CASE("the peak stays where it was when less is allocated after something was freed") {
  for (Device device : devices()) {
    const MemoryStats before = memory_stats(device);
    reset_peak_memory(device);
    { const Tensor large = bytes(5 * kMiB, device); }
    CHECK(memory_stats(device).peak - before.current == 5 * kMiB);
    const Tensor small = bytes(kMiB, device);
    CHECK(memory_stats(device).peak - before.current == 5 * kMiB);
    CHECK(memory_stats(device).current - before.current == kMiB);
  }
}

TEST_CASE("requests are rounded to 256 bytes, and device allocations to segments of their kind") {
  for (Device device : devices()) {
    std::vector<Tensor> live;  // uses up the small segments left by other tests
    const auto takes = [&](int64_t size, int64_t current, int64_t reserved) {
      empty_cache(device);
      const MemoryStats before = memory_stats(device);
      live.push_back(bytes(size, device));
      CHECK(memory_stats(device).current - before.current == uz(current));
      CHECK(memory_stats(device).reserved - before.reserved == uz(reserved));
    };
    takes(30 * kMiB, 30 * kMiB, 30 * kMiB);
    takes(11 * kMiB + 1, 12 * kMiB, 12 * kMiB);  // the rest is too small for another one
    takes(10 * kMiB, 10 * kMiB, 10 * kMiB);
    takes(19 * kMiB + 300, 20 * kMiB, 20 * kMiB);
    takes(12 * kMiB + kMiB / 2, 12 * kMiB + kMiB / 2, 14 * kMiB);  // and here it is not
    empty_cache(device);
    // A new pool has its own segments.
    const MemoryPoolScope scope(make_memory_pool(device));
    const MemoryStats before = memory_stats(device);
    const Tensor a = bytes(1, device), b = bytes(257, device), c = bytes(256, device);
    CHECK(memory_stats(device).current - before.current == 256 + 512 + 256);
    CHECK(memory_stats(device).reserved - before.reserved == 2 * kMiB);
    const auto address = [](const Tensor& t) { return static_cast<const char*>(t.raw_data()); };
    CHECK(address(b) == address(a) + 256);
    CHECK(address(c) == address(a) + 768);
    const Tensor d = bytes(2 * kMiB, device), e = bytes(3 * kMiB, device), f = bytes(14 * kMiB, device),
                 g = bytes(16 * kMiB, device);
    CHECK(memory_stats(device).reserved - before.reserved == (2 + 20 + 16) * kMiB);
    CHECK(address(f) == address(e) + 3 * kMiB);
    CHECK(address(e) == address(d) + 2 * kMiB);
  }
}

TEST_CASE("a freed block is reused without a device allocation") {
  for (Device device : devices()) {
    empty_cache(device);
    const void* first = nullptr;
    {
      const Tensor a = bytes(30 * kMiB, device);
      first = a.raw_data();
    }
    const uint64_t calls = memory_stats(device).device_calls;
    {
      const Tensor b = bytes(30 * kMiB, device);
      CHECK(b.raw_data() == first);
    }
    // Neighbours merge: two halves become one block.
    {
      const Tensor left = bytes(15 * kMiB, device), right = bytes(15 * kMiB, device);
      CHECK(left.raw_data() != right.raw_data());
    }
    {
      const Tensor whole = bytes(30 * kMiB, device);
      CHECK(whole.raw_data() == first);
    }
    CHECK(memory_stats(device).device_calls == calls);
    CHECK(memory_stats(device).largest_free >= 30 * kMiB);
    const size_t reserved = memory_stats(device).reserved;
    empty_cache(device);
    CHECK(memory_stats(device).reserved <= reserved - 30 * kMiB);
  }
}

TEST_CASE("on the CPU the cache is bounded however many shapes are used") {
  empty_cache({});
  const int64_t before = static_cast<int64_t>(memory_stats({}).current);
  int64_t most = 0;
  std::vector<Tensor> live;
  for (int again = 0; again < 3; ++again)
    for (int64_t size = 1; size <= 80; ++size) {  // none fits into the earlier blocks
      live.clear();
      live.push_back(bytes(size * kMiB, {}));
      for (int64_t rest = 80 - size, i = 1; rest > 0; rest -= i++)
        live.push_back(bytes(std::min(rest, i) * kMiB - 4096, {}));
      most = std::max(most, static_cast<int64_t>(memory_stats({}).reserved));
    }
  CHECK(most > before + 200 * kMiB);                          // otherwise the bound would not matter
  CHECK(most <= before + (80 + 256) * kMiB + 2 * 20 * kMiB);  // plus segments that are partly in use
}

TEST_CASE(
    "the bound follows the peak of live memory, so a loop makes no device allocations after its first pass") {
  empty_cache({});
  // 600 MiB at the peak of a step, next to nothing between steps.
  const auto step = [] {
    std::vector<Tensor> live;
    for (int64_t size : {100, 41, 3, 100, 70, 41, 200, 25, 2}) live.push_back(bytes(size * kMiB, {}));
    live.erase(live.begin() + 2, live.begin() + 5);
    for (int64_t size : {60, 100, 8}) live.push_back(bytes(size * kMiB, {}));
  };
  for (int i = 0; i < 3; ++i) step();
  const uint64_t calls = memory_stats({}).device_calls;
  for (int i = 0; i < 20; ++i) step();
  CHECK(memory_stats({}).device_calls == calls);
  CHECK(memory_stats({}).reserved - memory_stats({}).current > 500 * kMiB);
  // After many small steps it decreases.
  for (int i = 0; i < 5000; ++i) (void)bytes(2 * kMiB, {});
  CHECK(memory_stats({}).reserved - memory_stats({}).current <= 256 * kMiB);
}

TEST_CASE("on the CPU a small tensor does not occupy a large block") {
  empty_cache({});
  const size_t before = memory_stats({}).reserved;
  { const Tensor large = bytes(200 * kMiB, {}); }
  const Tensor middling = bytes(11 * kMiB, {}), small = bytes(3 * kMiB, {});
  empty_cache({});
  CHECK(memory_stats({}).reserved <= before + (12 + 20) * kMiB);
}

TEST_CASE("blocks are aligned and do not overlap") {
  for (Device device : devices()) {
    std::vector<Tensor> live;
    std::vector<std::pair<uintptr_t, uintptr_t>> spans;
    for (int64_t n : {0, 1, 255, 256, 257, 5000, 1 << 20, (1 << 20) + 1, 11 << 20})
      for (int again = 0; again < 3; ++again) {
        live.push_back(bytes(n, device));
        const auto address = reinterpret_cast<uintptr_t>(live.back().raw_data());
        CHECK(address % 256 == 0);
        spans.emplace_back(address, address + static_cast<uintptr_t>(std::max<int64_t>(n, 1)));
        if (again == 1) live.erase(live.begin(), live.begin() + 1), spans.erase(spans.begin());
      }
    std::sort(spans.begin(), spans.end());
    for (size_t i = 1; i < spans.size(); ++i) CHECK(spans[i - 1].second <= spans[i].first);
  }
}

TEST_CASE("fragmentation is the share of the cache outside its largest block") {
  MemoryStats stats;
  CHECK(stats.fragmentation() == 0.0);
  stats.reserved = 100;
  stats.current = 20;
  stats.largest_free = 60;
  CHECK(stats.fragmentation() == doctest::Approx(0.25));
}

TEST_CASE("a pool's memory is separate, and its tensors may outlive it") {
  for (Device device : devices()) {
    const size_t reserved = memory_stats(device).reserved;
    Tensor survivor;
    const void* inside = nullptr;
    {
      auto pool = make_memory_pool(device);
      {
        const MemoryPoolScope scope(pool);
        survivor = bytes(4 * kMiB, device);
        inside = survivor.raw_data();
        survivor = Tensor();
      }
      // Outside the scope the freed block is not touched …
      const Tensor outside = bytes(4 * kMiB, device);
      CHECK(outside.raw_data() != inside);
      {
        // … inside it is reused.
        const MemoryPoolScope scope(pool);
        survivor = bytes(4 * kMiB, device);
        CHECK(survivor.raw_data() == inside);
      }
    }
    survivor.fill_(1);
    CHECK(values(survivor.rows(0, 1))[0] == 1);
    survivor = Tensor();
    empty_cache(device);
    CHECK(memory_stats(device).reserved <= reserved + 20 * kMiB);
  }
}

TEST_CASE("out-of-memory errors name op, tensor, size and memory in use") {
  for (Device device : devices()) {
    const MemoryStats before = memory_stats(device);
    const std::string message = error_of<OutOfMemory>([&] {
      const AllocationScope outer("train"), scope("gat_conv");
      const Tensor huge = Tensor::empty({int64_t{1} << 44, 16}, DType::f32, device);
    });
    CHECK(mentions(message,
                   {"out of memory on " + device.str() + ": gat_conv [17592186044416, 16] float32 needs",
                    "held in tensors"}));
    CHECK(memory_stats(device).current == before.current);
  }
}

TEST_CASE("tensors may be allocated and freed on several threads") {
  const MemoryStats before = memory_stats({});
  std::atomic<int> wrong{0};
  in_threads(4, [&](int t) {
    Tensor last = Tensor::full({1}, t);
    for (int i = 0; i < 500; ++i) {
      Tensor next = Tensor::full({(i * 37 + t) % 5000 + 1}, t);
      wrong += *last.data<float>() != static_cast<float>(t);
      last = next;
    }
  });
  CHECK(wrong == 0);
  CHECK(memory_stats({}).current == before.current);
}
