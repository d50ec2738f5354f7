#include "../support.h"
#include <adjoint/core/allocator.h>
#include <adjoint/core/capture.h>
#include <adjoint/kernels/elementwise/dropout.h>
#include <adjoint/kernels/elementwise/elementwise.h>

#include <cstring>
#include <thread>

using namespace adj;
using namespace adj::test;

namespace {
thread_local int allocations_left = -1;  // before one fails on this thread; -1: none does
}

#if !defined(__SANITIZE_ADDRESS__)  // which has operators of its own, and no GPU here
void* operator new(std::size_t bytes) {
  if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace {

std::vector<uint8_t> pattern(size_t bytes, uint8_t seed) {
  std::vector<uint8_t> values(bytes);
  for (size_t i = 0; i < bytes; ++i) values[i] = static_cast<uint8_t>((i * 131 + i / 251 + seed) & 0xff);
  return values;
}

}  // namespace

TEST_CASE("any number of bytes is copied to the device and back") {
  for (Device device : devices())
    for (size_t bytes : {size_t{0}, size_t{1}, size_t{65535}, size_t{65536}, size_t{65537}, size_t{4} << 20,
                         (size_t{4} << 20) + 1, (size_t{37} << 20) + 5}) {
      CAPTURE(bytes);
      const std::vector<uint8_t> sent = pattern(bytes, 1);
      const Tensor copy = Tensor::from(sent, device);
      CHECK(copy.to_vector<uint8_t>() == sent);
      CHECK(copy.clone().to_vector<uint8_t>() == sent);
    }
}

TEST_CASE("the host may change a copied tensor at once") {
  for (Device device : devices()) {
    std::vector<Tensor> tensors;
    std::vector<uint8_t> buffer;
    for (int i = 0; i < 200; ++i) {
      buffer = pattern(uz(1000 + 977 * i), static_cast<uint8_t>(i));
      tensors.push_back(Tensor::from(buffer, device));
      std::memset(buffer.data(), 0, buffer.size());
    }
    for (int i = 0; i < 200; ++i)
      CHECK(tensors[uz(i)].to_vector<uint8_t>() == pattern(uz(1000 + 977 * i), static_cast<uint8_t>(i)));
  }
}

TEST_CASE("conversions and fills are the same on every device") {
  const std::vector<DType> all{DType::f32, DType::f64, DType::bf16, DType::i32, DType::i64, DType::u8};
  for (Device device : devices())
    for (DType input_dtype : all)
      for (DType output_dtype : all)
        for (int64_t n : {0, 1, 5, 1003}) {
          CAPTURES(name_of(input_dtype), name_of(output_dtype));
          // Within the range of every dtype, fractions included.
          const Tensor source = random_uniform({n + 1}, 0.0, 250.0, default_generator()).to(input_dtype);
          CHECK(same_bits(source.to(device).to(output_dtype), source.to(output_dtype)));
          // A view that begins at an odd element.
          CHECK(same_bits(source.to(device).rows(1, n + 1).to(output_dtype),
                          source.rows(1, n + 1).to(output_dtype)));
          CHECK(same_bits(Tensor::full({n}, 37.75, output_dtype, device),
                          Tensor::full({n}, 37.75, output_dtype)));
        }
}

TEST_CASE("a device is usable after it ran out of memory") {
  for (Device device : devices()) {
    CHECK_THROWS_AS(Tensor::empty({int64_t{1} << 30, int64_t{1} << 18}, DType::f32, device), OutOfMemory);
    CHECK(Tensor::full({3}, 2.0, DType::f32, device).to_vector<float>() == std::vector<float>(3, 2.0f));
  }
}

TEST_CASE("memory freed within a pool's scope stays until the pool is destroyed") {
  for (Device device : devices()) {
    const size_t before = memory_stats(device).current;
    auto pool = make_memory_pool(device);
    Tensor a = Tensor::empty({3 << 20}, DType::u8, device);
    const void* address = a.raw_data();
    {
      const MemoryPoolScope scope(pool);
      a = Tensor();
    }
    {
      const Tensor b = Tensor::empty({3 << 20}, DType::u8, device);
      CHECK(b.raw_data() != address);
    }
    CHECK(memory_stats(device).current == before + (3 << 20));
    pool.reset();
    CHECK(memory_stats(device).current == before);
  }
}

TEST_CASE("a pool's segments survive empty_cache, and are freed with the pool") {
  for (Device device : devices()) {
    empty_cache(device);
    const size_t before = memory_stats(device).reserved;
    auto pool = make_memory_pool(device);
    {
      const MemoryPoolScope scope(pool);
      const Tensor a = Tensor::empty({40 << 20}, DType::u8, device);
    }
    empty_cache(device);
    CHECK(memory_stats(device).reserved == before + (40 << 20));
    pool.reset();
    CHECK(memory_stats(device).reserved == before);
  }
}

TEST_CASE("steps are captured on GPUs only") {
  StepGraph graph;
  CHECK(!StepGraph::supported(Device::cpu()));
  CHECK_THROWS_AS(graph.begin(Device::cpu()), Error);
  CHECK_THROWS_AS(graph.end(), Error);
  CHECK_THROWS_AS(graph.replay(), Error);
  CHECK(!graph.ready());
  CHECK(!graph.capturing());
  graph.abort();
}

namespace {

/// A step with state and randomness: state = 0.5 * dropout(state) + x, twice, with temporaries. The second
/// mask comes from another generator, and a third one is created in every run.
struct Step {
  Generator generator{77};  // before the tensors, which draw from it
  Generator second{78};
  Tensor x, state;

  explicit Step(Device device)
      : x(random_uniform({1000, 7}, -1.0, 1.0, generator, DType::f32, device)),
        state(Tensor::full({1000, 7}, 1.0, DType::f32, device)) {}

  void run() {
    for (int i = 0; i < 2; ++i) {
      Tensor kept = Tensor::empty_like(state);
      Generator& masks = i == 0 ? generator : second;
      kernels::dropout({.x = state, .key = masks.next(), .rule = dropout_rule(0.3f), .y = kept});
      Generator local = generator.split(5);
      kernels::dropout({.x = kept, .key = local.next(), .rule = dropout_rule(0.1f), .y = kept});
      Tensor next = Tensor::zeros_like(state);
      kernels::linear_combination({.alpha = 0.5, .a = kept, .beta = 1.0, .b = x, .y = next});
      state.copy_(next);
    }
  }
};

}  // namespace

TEST_CASE("a replayed step gives the same bits as an eager one, random numbers included") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  Step eager(*device), captured(*device);
  eager.run();
  captured.run();
  StepGraph graph;
  graph.begin(*device);
  CHECK(graph.capturing());
  captured.run();
  graph.end();
  CHECK(graph.ready());
  CHECK(same_bits(eager.state, captured.state));  // recorded, not run
  CHECK(captured.generator.position() == eager.generator.position());
  CHECK(captured.second.position() == eager.second.position());
  for (int step = 0; step < 5; ++step) {
    CAPTURE(step);
    eager.run();
    graph.replay();
    CHECK(same_bits(eager.state, captured.state));
    CHECK(captured.generator.position() == eager.generator.position());
    CHECK(captured.second.position() == eager.second.position());
    if (step == 2) {
      // Draws between replays move the streams as they would in an eager run; so does an eager step.
      eager.second.next();
      captured.second.next();
      eager.run();
      captured.run();
    }
    const Tensor noise =
        Tensor::full({1000, 7}, 1e9, DType::f32, *device);  // finds memory that is not the graph's
  }
  captured.second.set_state(79, 0);
  CHECK(!graph.ready());
  CHECK_THROWS_AS(graph.replay(), Error);
}

TEST_CASE("an operation that cannot be captured is an error, after which everything works") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  Step step(*device);
  step.run();
  const Tensor before = step.state.clone();
  const uint64_t position = step.generator.position();
  const auto refused = [&](auto&& f) {
    StepGraph graph;
    graph.begin(*device);
    step.run();
    CHECK_THROWS_AS(f(graph), Error);
    graph.abort();
    CHECK(!graph.capturing());
    CHECK(!graph.ready());
    CHECK(same_bits(step.state, before));
    CHECK(step.generator.position() == position);
  };
  refused([&](StepGraph&) { return step.state.to_vector<float>(); });
  refused([&](StepGraph&) { return step.state.rows(0, 1).reshape({-1}).rows(0, 1).item(); });
  refused([&](StepGraph&) { return Tensor::from<float>({1.0f}, *device); });
  refused([&](StepGraph&) { synchronize(*device); });
  refused([&](StepGraph&) { Stream::current(*device).synchronize(); });
  refused([&](StepGraph&) { Stream::make(*device).wait(Stream::current(*device)); });
  refused([&](StepGraph&) { const StreamScope scope(Stream::make(*device)); });
  refused([&](StepGraph&) { step.generator.set_state(1, 2); });
  refused([&](StepGraph&) { return random_normal({3}, 0.0, 1.0, step.generator); });
  refused([&](StepGraph&) {
    Tensor on_cpu = Tensor::full({3}, 1.0);
    kernels::linear_combination({.alpha = 1.0, .a = on_cpu, .beta = 1.0, .b = on_cpu, .y = on_cpu});
  });
  refused([&](StepGraph&) {
    StepGraph another;
    another.begin(*device);
  });
  {
    StepGraph graph;  // is destroyed in the middle of a capture
    graph.begin(*device);
    step.run();
  }
  CHECK(same_bits(step.state, before));
  StepGraph graph;
  graph.begin(*device);
  step.run();
  graph.end();
  graph.replay();
  CHECK(!same_bits(step.state, before));
  // A second recording replaces the first.
  graph.begin(*device);
  step.run();
  graph.end();
  graph.replay();
  synchronize(*device);
}

TEST_CASE("an error while a capture begins leaves nothing behind, wherever it is thrown") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  Step step(*device);
  step.run();
  StepGraph graph;
  bool begun = false;
  for (int allocations = 0; !begun; ++allocations) {
    CAPTURE(allocations);
    try {
      allocations_left = allocations;
      graph.begin(*device);
      begun = true;
    } catch (const std::bad_alloc&) {
    }
    allocations_left = -1;
    REQUIRE(allocations < 1000);
    if (begun) break;
    CHECK(!graph.capturing());
    StepGraph another;
    another.begin(*device);
    step.run();
    another.end();
    another.replay();
    synchronize(*device);
  }
  step.run();
  graph.end();
  graph.replay();
  synchronize(*device);
}

TEST_CASE("a step runs on its capture stream, ordered with the stream that replays it") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  const Stream home = Stream::make(*device), elsewhere = Stream::make(*device);
  Step eager(*device), captured(*device);
  eager.run();
  captured.run();
  home.wait(Stream::default_of(*device));
  StepGraph graph;
  {
    const StreamScope scope(home);
    graph.begin(*device);
    CHECK(Stream::current(*device) == home);
    captured.run();
    graph.end();
  }
  for (int round = 0; round < 4; ++round) {
    eager.run();
    const StreamScope scope(round % 2 == 0 ? elsewhere : Stream::default_of(*device));
    elsewhere.wait(Stream::default_of(*device));
    graph.replay();
    CHECK(same_bits(eager.state, captured.state));
    Stream::default_of(*device).wait(elsewhere);
  }
}

TEST_CASE("other threads allocate, copy, draw and compute while a step is being captured") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  Step eager(*device), captured(*device), undisturbed(*device), bystander(*device);
  eager.run();
  captured.run();
  StepGraph graph;
  graph.begin(*device);
  const uint64_t position = captured.generator.position();
  captured.run();
  std::thread([&] {
    CHECK(!capturing(*device));
    for (int i = 0; i < 3; ++i) bystander.run();
    (void)captured.generator.next();  // not the step's
    CHECK(captured.generator.position() == position + 1);
    CHECK(Tensor::full({1 << 20}, 2.0, DType::f32, *device).rows(5, 6).to_vector<float>()[0] == 2.0f);
    empty_cache(*device);
    synchronize(*device);
  }).join();
  captured.run();
  graph.end();
  for (int i = 0; i < 3; ++i) undisturbed.run();
  CHECK(same_bits(bystander.state, undisturbed.state));
  (void)eager.generator.next();
  for (int step = 0; step < 3; ++step) {
    eager.run();
    eager.run();
    graph.replay();
    CHECK(same_bits(eager.state, captured.state));
  }
}

TEST_CASE("lazily made objects are computed during a capture and are not part of the step") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  const Tensor x = Tensor::full({1000}, 3.0, DType::f32, *device);
  Tensor result;
  const size_t before = memory_stats(*device).current;
  {
    StepGraph graph;
    graph.begin(*device);
    {
      const OutsideCapture outside;
      result = Tensor::empty_like(x);
      kernels::linear_combination({.alpha = 1.0, .a = x, .beta = 1.0, .b = x, .y = result});
      CHECK(result.rows(999, 1000).to_vector<float>()[0] == 6.0f);
    }
    CHECK(capturing(*device));
    Tensor of_the_step = Tensor::zeros_like(x);
    kernels::linear_combination({.alpha = 1.0, .a = result, .beta = 1.0, .b = x, .y = of_the_step});
    graph.end();
    graph.replay();
    CHECK(of_the_step.rows(999, 1000).to_vector<float>()[0] == 9.0f);
  }
  CHECK(memory_stats(*device).current == before + 4096);
  CHECK(result.rows(999, 1000).to_vector<float>()[0] == 6.0f);
}
