#include "../support.h"
#include <adjoint/core/allocator.h>
#include <adjoint/core/capture.h>
#include <adjoint/core/side_stream.h>
#include <adjoint/core/stream.h>
#include <adjoint/graph/graph.h>
#include <adjoint/kernels/dense/gemm.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/reduce/reduce.h>

#include <atomic>
#include <numeric>
#include <set>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kMany = 1 << 24;

/// Queues work that takes the device some milliseconds and leaves `value` in every element of the result.
Tensor slowly(double value, Device device) {
  Tensor x = Tensor::full({kMany}, 0.0, DType::f32, device),
         step = Tensor::full({kMany}, value / 256, DType::f32, device);
  for (int i = 0; i < 256; ++i)
    kernels::linear_combination({.alpha = 1.0, .a = x, .beta = 1.0, .b = step, .y = x});
  return x;
}

float last(const Tensor& x) { return x.rows(kMany - 1, kMany).to_vector<float>()[0]; }

}  // namespace

TEST_CASE("a stream is a value, and a scope makes it this thread's current one") {
  for (Device device : devices()) {
    const Stream usual = Stream::default_of(device), other = Stream::make(device);
    CHECK(usual.device() == device);
    CHECK(Stream::current(device) == usual);
    CHECK((other == usual) == device.is_cpu());
    {
      const StreamScope scope(other);
      CHECK(Stream::current(device) == other);
      {
        const StreamScope inner(usual);
        CHECK(Stream::current(device) == usual);
      }
      CHECK(Stream::current(device) == other);
      CHECK(Stream::current(Device::cpu()) == Stream());
      std::thread([&] { CHECK(Stream::current(device) == usual); }).join();
    }
    CHECK(Stream::current(device) == usual);
    other.wait(usual);
    other.wait(other);
    usual.synchronize();
    other.synchronize();
    CHECK(Tensor::full({3}, 2.0, DType::f32, device).to_vector<float>() == std::vector<float>(3, 2.0f));
  }
}

TEST_CASE("streams and tensors of different devices cannot be combined") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  CHECK_THROWS_AS(Stream().wait(Stream::make(*device)), Error);
  CHECK_THROWS_AS(Stream::make(*device).wait(Stream()), Error);
  CHECK_THROWS_AS(Tensor::zeros({3}).use_on(Stream::make(*device)), Error);
}

TEST_CASE("copies between two GPUs follow the streams of both, and leave the current device") {
  if (cuda_device_count() < 2) {
    MESSAGE("skipped: one GPU or none");
    return;
  }
  const Device first = Device::cuda(0), second = Device::cuda(1);
  for (const auto& [from, to] : {std::pair(first, second), {second, first}}) {
    Tensor x = slowly(3.0, from);
    const Tensor y = x.to(to);
    x.fill_(7.0);  // not before the copy has read it
    CHECK(last(y) == 3.0f);
    CHECK(last(x) == 7.0f);
    Tensor back = Tensor::zeros({kMany}, DType::f32, from);
    back.copy_(slowly(5.0, to));  // whose memory is free at once
    (void)Tensor::full({kMany}, 9.0, DType::f32, to);
    CHECK(last(back) == 5.0f);
    for (const int64_t n : {0, 1, 3, 65'537}) {
      const Tensor some = random_tensor({n}, DType::f64, from);
      CHECK(same_bits(some.to(to).to(Device::cpu()), some.to(Device::cpu())));
    }
    CHECK(Graph::from_coo(3, Tensor::from<int32_t>({0, 1}, from), Tensor::from<int32_t>({1, 2}, from))
              .to(to)
              .num_edges() == 2);
  }
}

TEST_CASE("any number of streams can be created") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  std::set<int> ids;
  for (int i = 0; i < 100; ++i) ids.insert(Stream::make(*device).id());
  CHECK(ids.size() == detail::kMaxStreams - 1);
  CHECK(!ids.contains(0));
}

TEST_CASE("a new stream begins after the work queued on the default stream") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  for (int i = 0; i < detail::kMaxStreams; ++i) {
    const Tensor x = slowly(1.0 + i, *device);
    const StreamScope scope(Stream::make(*device));
    CHECK(last(x) == 1.0f + static_cast<float>(i));
  }
}

TEST_CASE("a stream that waits for another reads its results") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  const Stream writer = Stream::make(*device), reader = Stream::make(*device);
  for (int round = 0; round < 5; ++round) {
    Tensor x;
    {
      const StreamScope scope(writer);
      x = slowly(2.0 + round, *device);
    }
    reader.wait(writer);
    const StreamScope scope(reader);
    const Tensor copy = x.clone();
    CHECK(last(copy) == 2.0f + static_cast<float>(round));
  }
}

TEST_CASE("a side stream follows what the current one has, and is followed where it joins, captured or not") {
  for (const Device device : devices()) {
    const SideStream side(device);
    Tensor x = Tensor::zeros({kMany}, DType::f32, device), seen = Tensor::empty_like(x),
           y = Tensor::empty_like(x), step = Tensor::full({kMany}, 1.0, DType::f32, device);
    const auto add = [&](const Tensor& x_before, Tensor& sum) {
      for (int i = 0; i < 16; ++i)
        kernels::linear_combination(
            {.alpha = 1.0, .a = i == 0 ? x_before : sum, .beta = 1.0, .b = step, .y = sum});
    };
    const auto run = [&] {
      add(x, x);                           // 16
      side.run([&] { add(x, seen); });     // 32: must not begin before x is ready
      side.run([&] { add(seen, seen); });  // 48
      side.join();
      kernels::linear_combination({.alpha = 1.0, .a = seen, .beta = 1.0, .b = x, .y = y});  // 64
      x.fill_(0.0);
    };
    run();
    CHECK(last(y) == 64.0f);
    if (!StepGraph::supported(device)) continue;
    StepGraph graph;
    graph.begin(device);
    run();
    graph.end();
    seen.fill_(NAN);
    y.fill_(NAN);
    for (int i = 0; i < 3; ++i) graph.replay();
    CHECK(last(y) == 64.0f);
  }
}

TEST_CASE("synchronize waits for every stream of the device") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  Tensor x;
  {
    const StreamScope scope(Stream::make(*device));
    x = slowly(3.0, *device);
  }
  synchronize(*device);
  const StreamScope scope(Stream::make(*device));  // waits for the default stream, which has nothing to do
  CHECK(last(x) == 3.0f);
}

TEST_CASE("memory that another stream still uses is not reused until it is free") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  empty_cache(*device);
  const size_t before = memory_stats(*device).current;
  const Stream other = Stream::make(*device);
  for (bool declared : {false, true}) {
    CAPTURE(declared);
    for (int round = 0; round < 5; ++round) {
      Tensor sum;
      {
        const Tensor x = Tensor::full({kMany}, 5.0, DType::f32, *device);
        if (declared) x.use_on(other);
        other.wait(Stream::default_of(*device));
        const StreamScope scope(other);
        const Tensor delay = slowly(1.0, *device);
        sum = Tensor::zeros({kMany}, DType::f32, *device);
        kernels::linear_combination({.alpha = 1.0, .a = delay, .beta = 1.0, .b = x, .y = sum});
      }
      // The default stream would overwrite x long before the other one has come to read it.
      const Tensor y = Tensor::full({kMany}, -1e9, DType::f32, *device);
      const StreamScope scope(other);
      CHECK(last(sum) == 6.0f);
    }
  }
  synchronize(*device);
  CHECK(memory_stats(*device).current == before);
}

TEST_CASE("each stream has free memory of its own") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  empty_cache(*device);
  const Stream other = Stream::make(*device);
  const void* address = nullptr;
  {
    const Tensor x = Tensor::full({kMany}, 1.0, DType::f32, *device);
    address = x.raw_data();
  }
  {
    const StreamScope scope(other);
    const Tensor y = Tensor::full({kMany}, 2.0, DType::f32, *device);
    CHECK(y.raw_data() != address);
  }
  const Tensor z = Tensor::empty({kMany}, DType::f32, *device);
  CHECK(z.raw_data() == address);
}

TEST_CASE("memory freed by another thread returns to its own stream at once") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  empty_cache(*device);
  const StreamScope scope(Stream::make(*device));
  Tensor x = Tensor::full({kMany}, 1.0, DType::f32, *device);
  const void* address = x.raw_data();
  std::thread([taken = std::move(x)]() mutable { taken = Tensor(); }).join();
  x = Tensor();
  CHECK(Tensor::empty({kMany}, DType::f32, *device).raw_data() == address);
}

TEST_CASE("concurrent streams give the same bits as each alone") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  const auto work = [&](int which) {
    Generator generator(static_cast<uint64_t>(which));
    const Tensor a = random_normal({700 + which, 400}, 0.0, 1.0, generator, DType::f32, *device),
                 b = random_normal({400, 300}, 0.0, 1.0, generator, DType::f32, *device),
                 long_one = random_normal({100003 + which, 37}, 0.0, 1.0, generator, DType::f32, *device);
    Tensor c = Tensor::empty({700 + which, 300}, DType::f32, *device),
           sums = Tensor::empty({37}, DType::f32, *device);
    Numbers results;
    for (int round = 0; round < 30; ++round) {
      kernels::gemm({.a = a, .b = b, .c = c});
      kernels::sum_rows({.x = long_one, .y = sums});  // its last block merges what all blocks left
      const Numbers found = values(c.rows(round, round + 1)), columns = values(sums);
      results.insert(results.end(), found.begin(), found.end());
      results.insert(results.end(), columns.begin(), columns.end());
    }
    return results;
  };
  std::vector<Numbers> alone, together(4);
  for (int which = 0; which < 4; ++which) alone.push_back(work(which));
  in_threads(4, [&](int which) {
    const StreamScope scope(Stream::make(*device));
    together[uz(which)] = work(which);
  });
  for (size_t which = 0; which < 4; ++which) CHECK(together[which] == alone[which]);
}

TEST_CASE("threads copy to and from the device, on one stream or their own") {
  for (Device device : devices())
    for (bool own_stream : {false, true}) {
      std::atomic<int> wrong{0};
      in_threads(4, [&](int t) {
        const StreamScope scope(own_stream ? Stream::make(device) : Stream::default_of(device));
        for (int i = 0; i < 20; ++i) {
          // Small ones and ones that take several slots of the ring.
          std::vector<int32_t> sent(uz(i % 2 == 0 ? 999 + t : 2500000 + t));
          std::iota(sent.begin(), sent.end(), 100 * t + i);
          wrong += Tensor::from(sent, device).clone().to_vector<int32_t>() != sent;
        }
      });
      CHECK(wrong == 0);
    }
}

TEST_CASE("nothing is captured outside a capture") {
  for (Device device : devices()) CHECK(!capturing(device));
  const OutsideCapture nothing_to_leave;
  Tensor x = Tensor::full({3}, 1.0);
  kernels::linear_combination({.alpha = 1.0, .a = x, .beta = 1.0, .b = x, .y = x});
  CHECK(x.to_vector<float>() == std::vector<float>(3, 2.0f));
}

TEST_CASE("CPU computations are refused only while a step is captured") {
  detail::Recorder recorder(Device::cuda(), nullptr, nullptr);
  Tensor x = Tensor::full({3}, 1.0);
  const auto compute = [&] {
    kernels::linear_combination({.alpha = 1.0, .a = x, .beta = 1.0, .b = x, .y = x});
  };
  {
    const detail::RecorderScope recording(&recorder);
    CHECK_THROWS_AS(compute(), Error);
    CHECK_THROWS_AS(random_normal({3}, 0.0, 1.0, default_generator()), Error);
    CHECK_THROWS_AS(random_permutation(3, default_generator()), Error);
    CHECK(Tensor::from<float>({4.0f}).item() == 4.0);  // a host value like any other
    std::thread(compute).join();
  }
  compute();
  CHECK(x.to_vector<float>() == std::vector<float>(3, 4.0f));
}

TEST_CASE("each thread has its own capture, and can suspend it") {
  const Device device = devices().list().back();
  detail::Recorder recorder(device, nullptr, nullptr);
  {
    const detail::RecorderScope recording(&recorder);
    CHECK(capturing(device));
    std::thread([&] { CHECK(!capturing(device)); }).join();
    {
      const OutsideCapture outside;
      CHECK(!capturing(device));
      const OutsideCapture again;
      CHECK(!capturing(device));
      CHECK(Generator(3).next().base == nullptr);
    }
    CHECK(capturing(device));
  }
  CHECK(!capturing(device));
}
