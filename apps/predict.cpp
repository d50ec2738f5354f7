// Runs a trained model on a graph: that of its training, or any other with the same features.

#include "common/options.h"
#include "common/outputs.h"
#include "common/trained_model.h"
#include <adjoint/core/text.h>

#include <chrono>

namespace po = boost::program_options;
using namespace adj;
using namespace adj::apps;

namespace {

struct Options {
  std::string checkpoint, data, out, device = "cpu", split = "0";
  int64_t threads = 0;
  bool json = false, quiet = false;
};

/// False if --help was asked for and has been printed.
bool read(int argc, char** argv, Options& o) {
  const auto file = [](std::string& value) { return po::value(&value)->value_name("FILE"); };
  po::options_description options("Options");
  options.add_options()("checkpoint", file(o.checkpoint), "what a training wrote with --checkpoint")(
      "data", file(o.data), "a dataset in HDF5 with as many features; labels and splits are not needed")(
      "out", file(o.out), "write here what is predicted for every node, HDF5")(
      "split", with_default(o.split, "K"), "of the dataset, whose test nodes the metric is taken over")(
      "device", with_default(o.device, "NAME"), "cpu, cuda or cuda:1")(
      "threads", with_default(o.threads), "CPU threads (0: all cores)")("json", po::bool_switch(&o.json),
                                                                        "print one JSON object last")(
      "quiet", po::bool_switch(&o.quiet), "say nothing; with --json nothing but the object")(
      "version", "print the version")("help", "print this");
  try {
    po::variables_map values = parse_command_line(argc, argv, options);
    if (values.count("help") != 0) {
      print_help("predict --checkpoint FILE --data FILE --out FILE [OPTION]...",
                 "Runs a trained model on a graph that it may not have seen.", options);
      return false;
    }
    if (values.count("version") != 0) {
      fmt::print("predict {}\n", version());
      return false;
    }
    po::notify(values);
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  for (const auto& [name, value] :
       {std::pair("checkpoint", &o.checkpoint), {"data", &o.data}, {"out", &o.out}})
    if (value->empty()) throw UsageError(fmt::format("--{}: expected a file", name));
  expect_integer("threads", o.threads, 0, kMaxThreads);
  if (!split_number(o.split)) throw UsageError("--split: expected a number, got 'all'");
  RunFiles files;
  files.read("data", o.data);
  files.read("checkpoint", o.checkpoint);
  files.write("out", o.out);
  return true;
}

/// What the metric says of the split's test nodes; empty, and said why, where it says nothing.
std::optional<double> measure(const TrainedModel& trained, const Dataset& data, const Tensor& output) {
  if (!data.y || data.splits.empty()) return {};
  if (data.task != trained.task || outputs_of(data) != trained.outputs) {
    log_info("no metric: the labels are {} [{}], the model gives {} [{}]", name_of(data.task),
             data.num_classes(), name_of(trained.task), trained.outputs);
    return {};
  }
  try {
    return trained.metric.of(output, data.y, data.test);
  } catch (const Error& error) {
    log_info("no metric: {}", error.what());
    return {};
  }
}

void predict(const Options& o) {
  const auto start = std::chrono::steady_clock::now();
  if (o.quiet) set_log_level(LogLevel::warning);
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  const Device device = Device::parse(o.device);
  const TrainedModel trained = load_trained(o.checkpoint, device);
  set_precision(trained.settings);
  Dataset data = load_dataset(o.data);
  if (data.x && data.num_features() != trained.features)
    data_fail("{}: nodes/x: {} columns, but {} was trained on {}", o.data, data.num_features(), o.checkpoint,
              trained.features);
  prepare_features(data, o.data, "predict", trained.settings.normalize);
  const int64_t split = *split_number(o.split);
  if (!data.splits.empty() && split >= std::ssize(data.splits))
    throw UsageError(
        fmt::format("--split: expected 0 to {} for {}, got {}", data.splits.size() - 1, o.data, split));
  if (!data.splits.empty()) data.use_split(static_cast<size_t>(split));
  data = data.to(device);
  const std::string model = trained.model->describe();
  log_info("{} of {} on {}: {} nodes, {} edges, {}", model, trained.origin, printable(data.name),
           data.num_nodes(), data.graph.num_edges(), device.str());

  const Tensor output = trained.run(data);
  write_predictions(o.out, "predict", data.name, trained.task, output);
  const std::optional<double> value = measure(trained, data, output);
  if (value && (!o.quiet || !o.json)) fmt::print("test {} {:.4f}\n", trained.metric.name, *value);
  if (!o.json) return;
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print(R"({{"app": "predict", "dataset": {}, "model": {}, "device": {}, "nodes": {}, "task": "{}", )"
             R"({}"wall_s": {:.3f}}})"
             "\n",
             json_text(data.name), json_text(model), json_text(device.str()), data.num_nodes(),
             name_of(trained.task),
             value ? fmt::format(R"("metric": "{}", "test_acc": {}, )", trained.metric.option, *value) : "",
             wall_s);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("predict", [&] {
    Options o;
    if (read(argc, argv, o)) predict(o);
  });
}
