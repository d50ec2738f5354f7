#include "measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace adj::apps {

namespace {

constexpr int kWarmUps = 5;       // capture of a training step happens among them
constexpr double kRoundMs = 1.0;  // minimum duration of a round, to hide clock and launch overhead
constexpr double kLeastCopy = 256e6, kMostCopy = 4e9;

/// Milliseconds of `calls` calls, including synchronisation.
double time_ms(Device device, int64_t calls, const std::function<void()>& run) {
  synchronize(device);
  const auto start = std::chrono::steady_clock::now();
  for (int64_t k = 0; k < calls; ++k) run();
  synchronize(device);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2.0;
}

/// Copies with all threads, or on the device.
void copy(const Tensor& input, Tensor& output) {
  if (input.is_cuda()) {
    output.copy_(input);
    return;
  }
  const auto* source = static_cast<const char*>(input.raw_data());
  auto* target = static_cast<char*>(output.raw_mutable_data());
  const auto bytes = static_cast<int64_t>(input.bytes());
  parallel_for(bytes, int64_t{4} << 20, [=](int64_t begin, int64_t end) {
    std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
  });
}

}  // namespace

Measurement measure(const Op& op, const Subject& subject, int64_t repeats, Job& job) {
  const Device device = subject.device();
  reset_peak_memory(device);
  job = op.prepare(subject);
  double once = kRoundMs;
  for (int k = 0; k < kWarmUps; ++k) once = std::min(once, time_ms(device, 1, job.run));
  Measurement result;
  result.peak_mb = static_cast<double>(memory_stats(device).peak) / 0x1p20;

  const auto calls = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(kRoundMs / std::max(once, 1e-4))));
  const auto half = static_cast<int64_t>(std::clamp(job.bytes, kLeastCopy, kMostCopy) / 2.0);
  const Tensor source = Tensor::zeros({half}, DType::u8, device);
  Tensor target = Tensor::zeros({half}, DType::u8, device);
  std::vector<double> op_ms, copy_ms;
  for (int64_t round = 0; round < repeats; ++round) {
    copy_ms.push_back(time_ms(device, 1, [&] { copy(source, target); }));
    op_ms.push_back(time_ms(device, calls, job.run) / static_cast<double>(calls));
  }
  result.ms = median(op_ms);
  result.min_ms = *std::min_element(op_ms.begin(), op_ms.end());
  result.copy_gbs = 2.0 * static_cast<double>(half) / median(copy_ms) / 1e6;
  return result;
}

Dataset load_subject(const std::string& path) {
  Dataset data = load_dataset(path);
  if (!data.splits.empty()) data.use_split(0);
  return data;
}

Dataset generate_subject(const std::string& graph, int64_t features, int64_t classes, uint64_t seed) {
  const EdgeList edges = named_graph(graph, seed);
  Generator generator(seed);
  Dataset data;
  data.name = graph;
  data.task = Task::node_class;
  data.classes = classes;
  data.graph = Graph::from_coo(edges.nodes, Tensor::from(edges.src), Tensor::from(edges.dst));
  data.x = Features(random_normal({edges.nodes, features}, 0.0, 1.0, generator));
  data.y = random_uniform({edges.nodes}, 0.0, static_cast<double>(classes), generator).to(DType::i32);
  std::vector<int32_t> train, rest;
  for (int64_t i = 0; i < edges.nodes; ++i) (i % 2 == 0 ? train : rest).push_back(static_cast<int32_t>(i));
  data.train = Tensor::from(train);
  data.val = data.test = Tensor::from(rest);
  return data;
}

}  // namespace adj::apps
