// Runs a quantised model in integers over all batches of a dataset and reports accuracy and speed.

#include "common/command_line.h"
#include "common/trained_model.h"
#include "infer_qgnn/passes.h"
#include <adjoint/adjoint.h>
#include <adjoint/core/text.h>
#include <adjoint/data/loader/graph_loader.h>
#include <adjoint/data/predictions.h>
#include <adjoint/training/graphs.h>
#include <adjoint/training/inputs.h>

#include <filesystem>

using namespace adj;
using namespace adj::apps;
using namespace adj::training;

namespace {

Dataset dataset_of(const ModelDescription& model, const InferOptions& o) {
  Dataset data = load_dataset(o.data);
  set_node_features(data, o.data, model.options.node_features, model.num_features);
  if (model.of_graphs() && !data.graph_offsets)
    data_fail("{}: graphs/offsets: missing, {} is of many graphs", o.data, model.name);
  require_features(data, o.data, "infer_qgnn");
  if (data.num_features() != model.num_features)
    data_fail("{}: nodes/x: {} columns, but {} was trained on {}", o.data, data.num_features(), o.checkpoint,
              model.num_features);
  if (!data.splits.empty()) data.use_split(0);
  return data;
}

using Integers = Placed<IntegerBatch>;

/// Packed on the host, so that features are bit-identical for every device.
Integers packed(const IntegerModel& model, const Part& part) {
  const IntegerBatch batch = model.description().of_graphs() ? model.pack(part.graph, part.offsets, part.x)
                                                             : model.pack(part.graph, part.x);
  return {part.places, batch.to(model.device())};
}

/// Input of the trained model for a part.
using Floats = Placed<GraphBatch>;

Floats unpacked(const TrainedModel& trained, const Part& part) {
  if (auto* of_nodes = trained.model().as<models::NodeModel>()) of_nodes->prepare(part.graph);
  GraphBatch batch;
  batch.graph = part.graph;
  batch.offsets = part.offsets;
  batch = batch.to(trained.device());
  batch.x = Features(trained.prepare(part.x).to_dense());
  return {part.places, batch};
}

Tensor computed(const TrainedModel& trained, const GraphBatch& batch) {
  if (auto* of_graphs = trained.model().as<models::GraphModel>())
    return (*of_graphs)(batch.graph, batch.offsets, batch.x).value();
  return (*trained.model().as<models::NodeModel>())(batch.graph, batch.x).value();
}

/// The integer model and, if available, the trained one.
struct Models {
  std::optional<TrainedModel> trained;
  IntegerModel integers;
};

Models models_of(const InferOptions& o, Device device) {
  if (is_integer_model(o.checkpoint)) {
    if (!o.compare.empty())
      usage_fail("--compare {}: {} is a model in integers, expected a checkpoint", o.compare, o.checkpoint);
    return {std::nullopt, IntegerModel::load(o.checkpoint, device, o.model())};
  }
  const TrainedModel trained = load_checkpoint_model(o.checkpoint, device);
  return {trained, IntegerModel(trained, o.model())};
}

void infer(const InferOptions& o) {
  if (o.quiet) set_log_level(LogLevel::warning);
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  const Device device = Device::parse(o.device);
  const auto [trained, model] = models_of(o, device);
  const ModelDescription& known = model.description();
  check_batches(o, known);
  if (!o.write.empty()) {
    model.save(o.write);
    log_info("{}: {} bytes, {}", o.write, std::filesystem::file_size(o.write), model.describe());
    if (o.data.empty()) return;
  }
  const Metric metric = metric_of(known, o.checkpoint);
  const Dataset data = dataset_of(known, o);
  const int64_t nodes = data.num_nodes(), graphs = known.of_graphs() ? data.graph_offsets.numel() - 1 : 0,
                rows = known.of_graphs() ? graphs : nodes;
  const Parts parts = parts_of(known, data, o);
  log_info("{} on {}: {} nodes, {} edges, {} batches of {}", model.describe(), device.str(), nodes,
           data.graph.num_edges(), parts.count, parts.of);
  std::optional<PrefetchOptions> rebuilt;
  if (!o.keeps_batches()) {
    const int workers = workers_of(o);
    rebuilt = {.workers = workers, .depth = 0, .streams = worker_streams(device, workers)};
    log_info("batches are rebuilt in every pass by {} threads", workers);
  }

  int64_t bytes = 0, by_bits = 0;
  const Passes integers =
      run_passes(known,
                 Batches<IntegerBatch>(
                     parts.count, [&](int64_t i) { return packed(model, parts.part(i)); }, rebuilt),
                 device, rows, o.repeats, !o.no_capture, [&](const IntegerBatch& batch, bool first) {
                   bytes += first ? batch.bytes() : 0;
                   by_bits += first && batch.by_bits();
                   return model(batch);
                 });
  log_info("{:.1f} MB packed, {} batches summed by bits", static_cast<double>(bytes) / 1e6, by_bits);
  if (!o.out.empty())
    write_predictions(o.out, "infer_qgnn", data,
                      predictions_of(known.task, integers.outputs, known.class_names));
  std::optional<Passes> floats;
  if (!o.compare.empty())
    floats =
        run_passes(known,
                   Batches<GraphBatch>(
                       parts.count, [&](int64_t i) { return unpacked(*trained, parts.part(i)); }, rebuilt),
                   device, rows, o.repeats, !o.no_capture,
                   [&](const GraphBatch& batch, bool) { return computed(*trained, batch); });
  const auto value_of = [&](const Passes& passes) { return measure(known, metric, data, passes.outputs); };
  const std::optional<double> value = value_of(integers),
                              float_value = floats ? value_of(*floats) : std::nullopt;
  const bool split = !data.splits.empty();
  if (value && !split) log_info("the file has no splits: {} of all with a label", metric.name);

  if (o.json) {
    const char* key = split ? "test_acc" : "acc";
    fmt::print(
        R"({{"app": "infer_qgnn", "dataset": {}, "model": {}, "device": {}, "nodes": {}, {}"batches": {}, )"
        R"("by_bits": {}, "bytes": {}, {}"ms": {:.4f}{}}})"
        "\n",
        json_text(data.name), json_text(model.describe()), json_text(device.str()), nodes,
        graphs > 0 ? fmt::format(R"("graphs": {}, )", graphs) : "", parts.count, by_bits, bytes,
        value ? fmt::format(R"("metric": "{}", "{}": {}, )", metric.option, key, *value) : "", integers.ms,
        floats ? fmt::format(R"(, "float32_ms": {:.4f}{})", floats->ms,
                             float_value ? fmt::format(R"(, "float32_{}": {})", key, *float_value) : "")
               : "");
    return;
  }
  const auto print = [&](const char* name, const Passes& passes, const std::optional<double>& of) {
    fmt::print(
        "{:10} {:9.3f} ms a pass, {:8.2f} million nodes{} a second{}\n", name, passes.ms,
        static_cast<double>(nodes) / passes.ms / 1e3,
        graphs > 0 ? fmt::format(" and {:.1f} thousand graphs", static_cast<double>(graphs) / passes.ms) : "",
        of ? fmt::format(", {}{} {:.4f}", split ? "test " : "", metric.name, *of) : "");
  };
  print("integers", integers, value);
  if (floats) print("float32", *floats, float_value);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("infer_qgnn", [&] {
    if (const auto options = read_infer_options(argc, argv)) infer(*options);
  });
}
