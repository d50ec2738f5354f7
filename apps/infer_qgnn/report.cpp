#include "report.h"

#include <fmt/format.h>

namespace adj::apps {

namespace {

void print_json(const InferReport& r, const IntegerModel& model, const Dataset& data, int64_t graphs,
                const training::Metric& metric) {
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

}  // namespace

void print(const InferReport& report, const IntegerModel& model, const Dataset& data,
           const training::Metric& metric, bool json) {
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

}  // namespace adj::apps
