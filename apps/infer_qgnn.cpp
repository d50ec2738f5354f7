// Runs a quantised model in integers over all batches of a dataset and reports accuracy and speed.

#include "common/command_line.h"
#include "common/trained_model.h"
#include "infer_qgnn/passes.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

#include <filesystem>

using namespace adj;
using namespace adj::apps;
using namespace adj::training;

namespace {

Dataset dataset_of(const ModelDescription& model, const InferOptions& o) {
  Dataset data = load_dataset(o.data);
  if (model.of_graphs() && !data.graph_offsets)
    data_fail("{}: graphs/offsets: missing, {} was trained on graphs", o.data, model.name);
  set_node_features(data, o.data, model);
  require_features(data, o.data, "infer_qgnn");
  if (!data.splits.empty()) data.use_split(split_of_training(model, data, o.data));
  match_names(data, o.data, model);  // which takes nodes of unknown classes from the split
  if (data.num_features() != model.num_features)
    data_fail("{}: nodes/x: {} columns, but {} was trained on {}", o.data, data.num_features(), o.checkpoint,
              model.num_features);
  take_edge_inputs(data, o.data, model, {});
  return data;
}

/// As log_clamped() of the scaled features, which parts are only when they are packed.
void log_clamped_parts(Dataset data, const ModelDescription& model, const std::string& file) {
  if (!model.quantization.quantizes()) return;
  scale_features(data, file, model.scaling);
  log_clamped(data, model.quantization);
}

/// Packed on the host, so that features are bit-identical for every device.
IntegerBatch packed(const IntegerModel& model, const Part& part) {
  const IntegerBatch batch = model.description().of_graphs() ? model.pack(part.graph, part.offsets, part.x)
                                                             : model.pack(part.graph, part.x);
  return batch.to(model.device());
}

/// Input of the trained model for a part.
GraphBatch unpacked(const TrainedModel& trained, const Part& part) {
  if (auto* of_nodes = trained.model().as<models::NodeModel>()) of_nodes->prepare(part.graph);
  GraphBatch batch;
  batch.graph = part.graph;
  batch.offsets = part.offsets;
  batch = batch.to(trained.device());
  batch.x = Features(trained.prepare(part.x).to_dense());
  return batch;
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
    if (o.compare != Comparison::none)
      usage_fail("--compare {}: {} is an integer model, expected a checkpoint", name_of(o.compare),
                 o.checkpoint);
    return {std::nullopt, IntegerModel::load(o.checkpoint, device, o.model())};
  }
  const TrainedModel trained = load_checkpoint_model(o.checkpoint, device);
  return {trained, IntegerModel(trained, o.model())};
}

/// Median time of a pass, and the metric (absent: no labels).
struct InferResult {
  double ms;
  std::optional<double> value;
};

/// Result of `infer_qgnn`.
struct InferReport {
  int64_t batches = 0;
  int64_t by_bits = 0;  ///< batches summed by bits
  int64_t bytes = 0;    ///< of the packed batches
  InferResult integers{};
  std::optional<InferResult> floats = {};  ///< of the trained model
};

void print_json(const InferReport& r, const IntegerModel& model, const Dataset& data, int64_t graphs,
                const Metric& metric) {
  const char* key = data.splits.empty() ? "acc" : "test_acc";
  fmt::print(
      R"({{"app": "infer_qgnn", "dataset": {}, "model": {}, "device": {}, "nodes": {}, {}"batches": {}, )"
      R"("by_bits": {}, "bytes": {}, {}"ms": {:.4f}{}}})"
      "\n",
      json_text(data.name), json_text(model.describe()), json_text(model.device().str()), data.num_nodes(),
      graphs > 0 ? fmt::format(R"("graphs": {}, )", graphs) : "", r.batches, r.by_bits, r.bytes,
      r.integers.value ? fmt::format(R"("metric": "{}", "{}": {}, )", metric.option, key, *r.integers.value)
                       : "",
      r.integers.ms,
      r.floats
          ? fmt::format(R"(, "float32_ms": {:.4f}{})", r.floats->ms,
                        r.floats->value ? fmt::format(R"(, "float32_{}": {})", key, *r.floats->value) : "")
          : "");
}

/// As text, or as one line of JSON.
void print(const InferReport& report, const IntegerModel& model, const Dataset& data, const Metric& metric,
           bool json) {
  const int64_t graphs = model.description().of_graphs() ? data.graph_offsets.numel() - 1 : 0;
  if (json) return print_json(report, model, data, graphs, metric);
  const auto line = [&](const char* name, const InferResult& result) {
    fmt::print(
        "{:10} {:9.3f} ms per pass, {:8.2f} million nodes{} per second{}\n", name, result.ms,
        static_cast<double>(data.num_nodes()) / result.ms / 1e3,
        graphs > 0 ? fmt::format(" and {:.1f} thousand graphs", static_cast<double>(graphs) / result.ms) : "",
        result.value
            ? fmt::format(", {}{} {:.4f}", data.splits.empty() ? "" : "test ", metric.name, *result.value)
            : "");
  };
  line("integers", report.integers);
  if (report.floats) line("float32", *report.floats);
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
  log_clamped_parts(data, known, o.data);
  const Parts parts = parts_of(known, data, o);
  log_info("{} on {}: {} nodes, {} edges, {} batches of {}", model.describe(), device.str(), data.num_nodes(),
           data.graph.num_edges(), parts.count, parts.description);
  LoaderOptions loading{.device = device};
  if (!o.keeps_batches()) {
    loading.workers = workers_of(o);
    log_info("batches are rebuilt in every pass by {} threads", loading.workers);
  }

  InferReport report{.batches = parts.count};
  const auto result_of = [&](const Passes& passes) {
    return InferResult{passes.ms, measure(known, metric, data, passes.outputs)};
  };
  const Passes integers = run_passes(
      known, data, batches_of(parts, loading, [&](const Part& part) { return packed(model, part); }), o,
      [&](const IntegerBatch& batch, bool first) {
        report.bytes += first ? batch.bytes() : 0;
        report.by_bits += first && batch.by_bits();
        return model(batch);
      });
  log_info("{:.1f} MB packed, {} batches summed by bits", static_cast<double>(report.bytes) / 1e6,
           report.by_bits);
  if (!o.out.empty())
    write_predictions(o.out, "infer_qgnn", data,
                      predictions_of(known.task, integers.outputs, known.class_names), o.escape_formulas);
  std::optional<Passes> floats;
  if (o.compare != Comparison::none)
    floats = run_passes(
        known, data, batches_of(parts, loading, [&](const Part& part) { return unpacked(*trained, part); }),
        o, [&](const GraphBatch& batch, bool) { return computed(*trained, batch); });
  report.integers = result_of(integers);
  if (floats) report.floats = result_of(*floats);
  if (report.integers.value && data.splits.empty())
    log_info("the file has no splits: {} over all labelled examples", metric.name);
  print(report, model, data, metric, o.json);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("infer_qgnn", [&] {
    if (const auto options = read_infer_options(argc, argv)) infer(*options);
  });
}
