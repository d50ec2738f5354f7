// Runs a quantised model in integers over all batches of a dataset, and says how right and how fast it is.

#include "common/options.h"
#include "common/outputs.h"
#include "common/trained_model.h"
#include <adjoint/core/capture.h>
#include <adjoint/core/text.h>
#include <adjoint/data/loader/cluster_loader.h>
#include <adjoint/graph/partition.h>
#include <adjoint/models/integer_model.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

using namespace adj;
using namespace adj::apps;
namespace po = boost::program_options;

namespace {

struct Options {
  std::string checkpoint, data, device = "cpu", sums = "auto", compare;
  int64_t parts = 0, parts_per_batch = 20, repeats = 10, threads = 0;
  bool all_steps = false, planes_alone = false, no_capture = false, json = false, quiet = false;
};

constexpr const char* kUsage = "infer_qgnn CHECKPOINT.h5 DATA.h5 [OPTION]...";

/// False if --help was asked for and has been printed.
bool read(int argc, char** argv, Options& o) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  po::options_description options("Options");
  auto add = options.add_options();
  add("checkpoint", po::value(&o.checkpoint)->value_name("FILE"),
      "of train_qgnn, 1 to 8 bits in every layer");
  add("data", po::value(&o.data)->value_name("FILE"), "the dataset");
  add("device", with_default(o.device, "NAME"), "cpu, cuda, cuda:1, …");
  add("parts", with_default(o.parts, "K"),
      "METIS makes so many clusters (0: the dataset's nodes/part, or the graph is one batch)");
  add("parts-per-batch", with_default(o.parts_per_batch, "N"), "clusters of a batch, at most");
  add("sums", with_default(o.sums, "WAY"),
      "over neighbours: bits (a product with the adjacency), bytes (gathers), auto (by counts); the same "
      "results");
  add("all-steps", po::bool_switch(&o.all_steps), "multiply tiles of the adjacency without an entry, too");
  add("planes-alone", po::bool_switch(&o.planes_alone), "read the adjacency for each bit plane anew");
  add("compare", po::value(&o.compare)->value_name("WAY"),
      "float32: the trained model over the same batches as well");
  add("repeats", with_default(o.repeats, "N"), "passes over all batches, of which the median is told");
  add("threads", with_default(o.threads), "CPU threads (0: all)");
  add("no-capture", po::bool_switch(&o.no_capture), "on a GPU, launch every kernel of a pass");
  add("json", po::bool_switch(&o.json), "print the result as one line of JSON");
  add("quiet", po::bool_switch(&o.quiet), "print the result alone");
  add("help", "print this");
  po::positional_options_description positional;
  positional.add("checkpoint", 1).add("data", 1);
  if (!read_options(argc, argv, options, positional, kUsage,
                    "Runs a quantised model in integers over all batches of a dataset."))
    return false;
  if (o.checkpoint.empty() || o.data.empty()) throw UsageError(fmt::format("expected {}", kUsage));
  expect_integer("parts", o.parts, 0, kMost);
  expect_integer("parts-per-batch", o.parts_per_batch, 1, kMost);
  expect_integer("repeats", o.repeats, 1, kMost);
  expect_integer("threads", o.threads, 0, kMaxThreads);
  expect_one_of("sums", o.sums, {"auto", "bits", "bytes"});
  if (!o.compare.empty()) expect_one_of("compare", o.compare, {"float32"});
  if (o.sums == "bytes" && (o.all_steps || o.planes_alone))
    throw UsageError(fmt::format("--{}: expected --sums bits or auto beside it",
                                 o.all_steps ? "all-steps" : "planes-alone"));
  return true;
}

/// What is computed at a time, on the device.
std::vector<SubgraphBatch> batches_of(const Dataset& data, const Options& o, Device device) {
  const int64_t nodes = data.num_nodes();
  if (o.parts > nodes) throw UsageError(fmt::format("--parts: expected {} at most, the nodes", nodes));
  Tensor part = data.part;
  if (o.parts > 0) part = metis_partition(data.graph, o.parts);
  if (!part) part = Tensor::zeros({nodes}, DType::i32);
  std::vector<int32_t> all(static_cast<size_t>(nodes));
  std::iota(all.begin(), all.end(), 0);
  const ClusterLoader loader(data.graph, data.x, {}, Tensor::from(all), part,
                             {.parts_per_batch = o.parts_per_batch, .loading = {.device = device}});
  std::vector<SubgraphBatch> batches;
  for (const SubgraphBatch& batch : loader.epoch(0)) batches.push_back(batch);
  return batches;
}

struct Passes {
  Tensor outputs;  ///< float32 [N, outputs], of all nodes
  double ms;       ///< of one over all batches, the median
};

/// Passes of compute(i), logits of batch i, over all batches.
template <class F>
Passes run(const TrainedModel& trained, const std::vector<SubgraphBatch>& batches, int64_t nodes,
           int64_t repeats, bool capture, F&& compute) {
  const NoGrad no_grad;
  const int64_t outputs = trained.num_outputs();
  std::vector<float> rows(static_cast<size_t>(nodes * outputs));
  for (size_t i = 0; i < batches.size(); ++i) {  // also the passes' warming up
    const auto of_batch = trained.finish(compute(i)).template to_vector<float>();
    const auto places = batches[i].nodes.to_vector<int32_t>();
    for (size_t k = 0; k < places.size(); ++k)
      std::copy_n(of_batch.begin() + static_cast<std::ptrdiff_t>(k * static_cast<size_t>(outputs)), outputs,
                  rows.begin() + static_cast<std::ptrdiff_t>(places[k] * outputs));
  }
  // On a GPU a pass is recorded once and replayed: launching would take longer than it does.
  const auto pass = [&] {
    for (size_t i = 0; i < batches.size(); ++i) (void)compute(i);
  };
  StepGraph recorded;
  if (capture && StepGraph::supported(trained.device())) {
    recorded.begin(trained.device());
    pass();
    recorded.end();
  }
  std::vector<double> ms;
  for (int64_t r = 0; r < repeats; ++r) {
    synchronize(trained.device());
    const auto begin = std::chrono::steady_clock::now();
    if (recorded.ready())
      recorded.replay();
    else
      pass();
    synchronize(trained.device());
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(ms.begin(), ms.begin() + static_cast<std::ptrdiff_t>(ms.size() / 2), ms.end());
  return {Tensor::from(rows, Shape{nodes, outputs}), ms[ms.size() / 2]};
}

/// What the metric says of the test nodes; nothing where there are no such labels.
std::optional<double> measure(const TrainedModel& trained, const Metric& metric, const Dataset& data,
                              const Tensor& outputs) {
  if (!data.y || data.splits.empty() || data.task != trained.task() ||
      outputs_of(data) != trained.num_outputs())
    return {};
  return metric.of(outputs, data.y, data.test);
}

void infer(int argc, char** argv) {
  Options o;
  if (!read(argc, argv, o)) return;
  if (o.quiet) set_log_level(LogLevel::warning);
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  const Device device = Device::parse(o.device);
  const TrainedModel trained = load_checkpoint_model(o.checkpoint, device);
  const IntegerModelOptions how{.sums = o.sums == "bits"    ? IntegerSums::bits
                                        : o.sums == "bytes" ? IntegerSums::bytes
                                                            : IntegerSums::automatic,
                                .skip_steps = !o.all_steps,
                                .share_steps = !o.planes_alone};
  if (!dynamic_cast<models::NodeModel*>(&trained.model()))
    throw UsageError(fmt::format("{}: {} is no model of nodes", o.checkpoint, trained.describe()));
  const IntegerModel model(trained, how);
  const Metric metric = metric_of(trained.description(), o.checkpoint);
  Dataset data = load_dataset(o.data);
  if (!data.x) data_fail("{}: nodes/x: missing, infer_qgnn needs node features", o.data);
  if (data.num_features() != trained.num_features())
    data_fail("{}: nodes/x: {} columns, but {} was trained on {}", o.data, data.num_features(), o.checkpoint,
              trained.num_features());
  if (!data.splits.empty()) data.use_split(0);

  const std::vector<SubgraphBatch> batches = batches_of(data, o, device);
  std::vector<IntegerBatch> packed;
  int64_t bytes = 0, by_bits = 0;
  for (const SubgraphBatch& batch : batches) {
    packed.push_back(model.pack(batch.graph, batch.x));
    bytes += packed.back().bytes();
    by_bits += packed.back().by_bits();
  }
  log_info("{} on {}: {} nodes, {} edges, {} batches of {:.1f} MB, {} of them summed by bits",
           model.describe(), device.str(), data.num_nodes(), data.graph.num_edges(), batches.size(),
           static_cast<double>(bytes) / 1e6, by_bits);
  const int64_t nodes = data.num_nodes();
  const Passes integers =
      run(trained, batches, nodes, o.repeats, !o.no_capture, [&](size_t i) { return model(packed[i]); });
  const std::optional<double> value = measure(trained, metric, data, integers.outputs);

  std::optional<Passes> floats;
  if (!o.compare.empty()) {
    auto& network = dynamic_cast<models::NodeModel&>(trained.model());
    std::vector<Features> x;
    for (const SubgraphBatch& batch : batches) {
      network.prepare(batch.graph);
      x.push_back(Features(trained.prepare(batch.x).to_dense()));
    }
    floats = run(trained, batches, nodes, o.repeats, !o.no_capture,
                 [&](size_t i) { return network(batches[i].graph, x[i]).value(); });
  }
  const std::optional<double> float_value =
      floats ? measure(trained, metric, data, floats->outputs) : std::nullopt;

  if (o.json) {
    fmt::print(
        R"({{"app": "infer_qgnn", "dataset": {}, "model": {}, "device": {}, "nodes": {}, "batches": {}, )"
        R"("by_bits": {}, "bytes": {}, {}"ms": {:.4f}{}}})"
        "\n",
        json_text(data.name), json_text(model.describe()), json_text(device.str()), nodes, batches.size(),
        by_bits, bytes,
        value ? fmt::format(R"("metric": "{}", "test_acc": {}, )", metric.option, *value) : "", integers.ms,
        floats ? fmt::format(R"(, "float32_ms": {:.4f}{})", floats->ms,
                             float_value ? fmt::format(R"(, "float32_test_acc": {})", *float_value) : "")
               : "");
    return;
  }
  const auto print = [&](const char* way, const Passes& passes, const std::optional<double>& of) {
    fmt::print("{:10} {:9.3f} ms a pass, {:8.2f} million nodes a second{}\n", way, passes.ms,
               static_cast<double>(nodes) / passes.ms / 1e3,
               of ? fmt::format(", test {} {:.4f}", metric.name, *of) : "");
  };
  print("integers", integers, value);
  if (floats) print("float32", *floats, float_value);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("infer_qgnn", [&] { infer(argc, argv); });
}
