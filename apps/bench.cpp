// Times kernels and training epochs against a copy of the minimum memory traffic.

#include "bench/options.h"
#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

#include <fmt/ranges.h>

using namespace adj;
using namespace adj::apps;

namespace {

/// The named ops, in that order; by default all kernels.
std::vector<Op> chosen(const std::vector<Op>& all, const std::vector<std::string>& names) {
  if (names.empty()) return kernel_ops();
  std::vector<Op> result;
  for (const std::string& name : names) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Op& op) { return op.name == name; });
    if (found == all.end()) {
      std::vector<std::string> known;
      for (const Op& op : all) known.push_back(op.name);
      usage_fail("no op '{}'{}", name, did_you_mean(name, known));
    }
    result.push_back(*found);
  }
  return result;
}

/// The ops, each followed by its peer; says which have none.
std::vector<Op> with_peers(std::vector<Op> ops, const std::string& peer) {
  std::vector<Op> result;
  std::vector<std::string> without;
  const std::vector<Op> peers = peer_ops();
  for (Op& op : ops) {
    const auto found = std::ranges::find(peers, fmt::format("{}_{}", peer, op.name), &Op::name);
    if (found == peers.end()) without.push_back(op.name);
    result.push_back(std::move(op));
    if (found != peers.end()) result.push_back(*found);
  }
  if (!without.empty()) log_info("{} has no peer of: {}", peer, fmt::join(without, ", "));
  return result;
}

void print_row(const Op& op, const Job& job, const Measurement& m) {
  const auto figure = [](double x, const char* unit) {
    return x > 0.0 ? fmt::format("{:.1f} {}", x, unit) : "-";
  };
  const double rate = job.bytes / m.ms / 1e6;
  fmt::print("{:20} {:32} {:>10.4f} {:>10.4f} {:>12} {:>12} {:>12} {:>7} {:>12} {:>12} {:>9.0f}\n", op.name,
             job.shape, m.ms, m.min_ms, figure(job.bytes / 1e6, "MB"), figure(rate, "GB/s"),
             figure(m.copy_gbs, "GB/s"), job.bytes > 0.0 ? fmt::format("{:.2f}", m.copy_gbs / rate) : "-",
             figure(job.flops / m.ms / 1e6, "GF/s"), figure(job.edges / m.ms / 1e3, "M/s"), m.peak_mb);
}

std::string json_row(const Op& op, const Job& job, const Measurement& m) {
  return fmt::format(
      R"({{"op": "{}", "shape": "{}", "ms": {:.6f}, "min_ms": {:.6f}, "bytes": {:.0f}, "gb_s": {:.3f}, )"
      R"("copy_gb_s": {:.3f}, "gflop_s": {:.3f}, "edges": {:.0f}, "edges_s": {:.0f}, "peak_mb": {:.1f}}})",
      op.name, job.shape, m.ms, m.min_ms, job.bytes, job.bytes / m.ms / 1e6, m.copy_gbs,
      job.flops / m.ms / 1e6, job.edges, job.edges / m.ms * 1e3, m.peak_mb);
}

void bench(int argc, char** argv) {
  std::vector<Op> all = kernel_ops();
  for (auto& more : {tile_ops(), bit_ops(), epoch_ops(), typed_ops(), triple_ops(), cluster_ops(),
                     sample_ops(), peer_ops()})
    all.insert(all.end(), more.begin(), more.end());
  auto options = read_bench_options(argc, argv, all);
  if (!options) return;
  BenchOptions& o = *options;
  std::vector<Op> ops = chosen(all, o.ops);
  if (o.peer != "none") ops = with_peers(std::move(ops), o.peer);
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  if (o.explain) set_explaining(true);
  if (o.tf32) compute_context().matmul_precision = MatmulPrecision::tf32;
  compute_context().exact_products = o.products;
  const Device device = Device::parse(o.device);
  manual_seed(static_cast<uint64_t>(o.seed));
  Dataset data = o.data.empty()
                     ? generate_subject(o.graph, o.features, o.classes, static_cast<uint64_t>(o.seed))
                     : load_subject(o.data);
  for (const std::string& order : o.orders)
    data = reordered(data, named_order(order, data.graph,
                                       {.parts = o.subject.parts,
                                        .seed = static_cast<uint64_t>(o.seed),
                                        .graph_offsets = data.graph_offsets}));
  o.subject.data = data.to(device);

  fmt::print("{} on {}: {} nodes, {} edges; {} threads, {} rounds\n", printable(data.name), device.str(),
             data.num_nodes(), data.graph.num_edges(), num_threads(), o.repeats);
  fmt::print("{:20} {:32} {:>10} {:>10} {:>12} {:>12} {:>12} {:>7} {:>12} {:>12} {:>9}\n", "op", "shape",
             "ms", "fastest", "bytes", "rate", "copy", "of copy", "products", "sampled", "peak MB");
  std::vector<std::string> rows;
  for (const Op& op : ops) {
    Job job;
    const Measurement m = measure(op, o.subject, o.repeats, job);
    print_row(op, job, m);
    rows.push_back(json_row(op, job, m));
  }
  if (o.explain) training::print_explanations();
  if (o.json)
    fmt::print(R"({{"app": "bench", "dataset": {}, "device": "{}", "threads": {}, "nodes": {}, "edges": {}, )"
               R"("width": {}, "dtype": "{}", "results": [{}]}})"
               "\n",
               json_text(data.name), device.str(), num_threads(), data.num_nodes(), data.graph.num_edges(),
               o.subject.width, name_of(o.subject.dtype), fmt::join(rows, ", "));
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("bench", [&] { bench(argc, argv); });
}
