// Times kernels and training epochs against a copy of the minimum memory traffic.

#include "bench/measure.h"
#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/data/reordered.h>
#include <adjoint/graph/generate/generators.h>
#include <adjoint/graph/order/orders.h>
#include <adjoint/kernels/bits/bit_tensor.h>
#include <adjoint/training.h>
#include <adjoint/training/loader.h>
#include <adjoint/training/outcome.h>

#include <fmt/ranges.h>

namespace po = boost::program_options;
using namespace adj;
using namespace adj::apps;

namespace {

struct Options {
  std::vector<std::string> ops, orders;
  std::string graph = "arxiv", data, device = "cpu", dtype = "float32", norm = "batch", products = "by-size",
              scatter = "fixed-point", fanouts = "15,10,5", sampling = "uniform";
  int64_t features = 128, classes = 40, threads = 0, repeats = 20, seed = 1, workers = 0;
  bool json = false, explain = false, no_capture = false, tf32 = false;
  Subject subject;
};

void check(const Options& o) {
  expect_one_of("dtype", o.dtype, {"float32", "bfloat16"});
  expect_one_of("norm", o.norm, {"batch", "none"});
  expect_one_of("products", o.products, {"by-size", "float32", "split"});
  expect_one_of("scatter", o.scatter, {"fixed-point", "float-atomics"});
  expect_one_of("sampling", o.sampling, {"uniform", "replace", "weighted", "labor"});
  expect_one_of("edges", o.subject.edges, {"by-source", "by-target", "shuffled"});
  const Subject& s = o.subject;
  for (const auto& [name, number, least] : {std::tuple("width", s.width, 1),
                                            {"heads", s.heads, 1},
                                            {"out", s.out, 1},
                                            {"hidden", s.hidden, 1},
                                            {"layers", s.layers, 1},
                                            {"features", o.features, 1},
                                            {"classes", o.classes, 2},
                                            {"threads", o.threads, 0},
                                            {"repeats", o.repeats, 1},
                                            {"seed", o.seed, 0},
                                            {"parts", s.parts, 0},
                                            {"least", s.least, 1},
                                            {"size", s.size, 1},
                                            {"parts-per-batch", s.parts_per_batch, 1},
                                            {"batch-size", s.batch_size, 1}})
    if (number < least) usage_fail("--{}: expected {} or more, got {}", name, least, number);
  if (o.threads > kMaxThreads) usage_fail("--threads: expected at most {}, got {}", kMaxThreads, o.threads);
  expect_integer("bits-a", s.bits_a, 1, BitTensor::kMostBits);
  expect_integer("bits-b", s.bits_b, 1, BitTensor::kMostBits);
  expect_integer("workers", o.workers, 0, kMaxThreads);
  (void)training::fanouts_of(o.fanouts);
  for (const std::string& order : o.orders) expect_one_of("order", order, order_names());
  for (const auto& [name, p] : {std::pair("dropout", s.dropout), {"attention-dropout", s.attention_dropout}})
    if (!(p >= 0.0 && p < 1.0)) usage_fail("--{}: expected 0 or more and less than 1, got {}", name, p);
}

/// False if --help or --version was printed.
bool read(int argc, char** argv, const std::vector<Op>& all, Options& o) {
  Subject& s = o.subject;
  po::options_description options;
  add_options(options, {{"graph", &o.graph, "NAME",
                         fmt::format("generated graph: {}", fmt::join(graph_names(), ", "))},
                        {"data", &o.data, "FILE", "dataset in HDF5 instead"}});
  options.add_options()(
      "order", po::value(&o.orders)->value_name("NAME"),
      fmt::format("reorder the nodes: {}; repeatable, applied in sequence", fmt::join(order_names(), ", "))
          .c_str());
  add_options(
      options,
      {{"parts", &s.parts, "N", "blocks of the metis order, and clusters (0: by the number of nodes)"},
       {"parts-per-batch", &s.parts_per_batch, "N", "clusters per batch"},
       {"features", &o.features, "N", "features per node of a generated graph"},
       {"classes", &o.classes, "N", "classes of a generated graph"},
       {"width", &s.width, "N", "width of the kernels' features"},
       {"heads", &s.heads, "N", "attention heads, sharing the width; reduced if they do not divide it"},
       {"out", &s.out, "N", "columns of a dense product"},
       {"dtype", &o.dtype, "TYPE",
        "of features in sparse products and attention, and of trained models: float32, bfloat16"},
       {"tf32", &o.tf32, "", "on a GPU, dense products in TF32"},
       {"products", &o.products, "METHOD",
        "on a Hopper GPU, method of exact dense products: by-size, float32, split"},
       {"edges", &s.edges, "ORDER", "order of edge lists: by-source, by-target, shuffled"},
       {"scatter", &o.scatter, "SUMS",
        "on a GPU, sums of spmm_coo: fixed-point, float-atomics (not reproducible)"},
       {"hidden", &s.hidden, "N", "width of trained models"},
       {"layers", &s.layers, "N", "layers of trained models"},
       {"norm", &o.norm, "NAME", "norm between layers: batch, none"},
       {"dropout", &s.dropout, "P", "dropout probability"},
       {"attention-dropout", &s.attention_dropout, "P", "dropout probability of attention coefficients"},
       {"no-capture", &o.no_capture, "", "on a GPU, launch each kernel instead of a CUDA graph"},
       {"fanouts", &o.fanouts, "LIST", "sampled in-edges per node and hop, from the seeds outwards"},
       {"sampling", &o.sampling, "METHOD", "uniform, replace, weighted (by edge weights) or labor"},
       {"batch-size", &s.batch_size, "N", "seeds per mini-batch"},
       {"workers", &o.workers, "N", "threads that prepare mini-batches"},
       {"size", &s.size, "N", "rows and columns of a bit matrix"},
       {"bits-a", &s.bits_a, "N", "bits of the left operand, 1 to 8"},
       {"bits-b", &s.bits_b, "N", "bits of the right operand, 1 to 8"},
       {"least", &s.least, "N", "minimum entries of a window's column to be tiled, 1 to 128"},
       {"device", &o.device, "NAME", "cpu, cuda or cuda:1"},
       {"threads", &o.threads, "N", "CPU threads (0: all)"},
       {"repeats", &o.repeats, "N", "rounds; the median is reported"},
       {"seed", &o.seed, "N", "seed of generated data"},
       {"explain", &o.explain, "", "print which kernels were chosen"},
       {"json", &o.json, "", "print one JSON object at the end"}});
  options.add_options()("version", "print the version")("help", "print this");
  po::options_description hidden;
  hidden.add(options).add_options()("op", po::value(&o.ops));
  po::positional_options_description positional;
  positional.add("op", -1);
  try {
    po::variables_map values = parse_command_line(argc, argv, hidden, &positional);
    if (values.count("help") != 0) {
      print_help("bench [OP]... [OPTION]...", "Times kernels and training epochs (default: all kernels).",
                 options);
      fmt::print("\nOps:\n");
      for (const Op& op : all) fmt::print("  {:20} {}\n", op.name, op.summary);
      return false;
    }
    if (values.count("version") != 0) {
      print_version("bench");
      return false;
    }
    po::notify(values);
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  check(o);
  return true;
}

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
  for (auto& more : {tile_ops(), bit_ops(), epoch_ops(), cluster_ops(), sample_ops()})
    all.insert(all.end(), more.begin(), more.end());
  Options o;
  if (!read(argc, argv, all, o)) return;
  const std::vector<Op> ops = chosen(all, o.ops);
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  if (o.explain) set_explaining(true);
  if (o.tf32) compute_context().matmul_precision = MatmulPrecision::tf32;
  compute_context().exact_products = o.products == "float32" ? ExactProducts::float32
                                     : o.products == "split" ? ExactProducts::split
                                                             : ExactProducts::by_size;
  if (o.scatter == "float-atomics") o.subject.scatter = kernels::ScatterSums::float_atomics_not_reproducible;
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
  o.subject.dtype = o.dtype == "bfloat16" ? DType::bf16 : DType::f32;
  o.subject.batch_norm = o.norm == "batch";
  o.subject.capture = !o.no_capture;
  o.subject.sampling = {.fanouts = training::fanouts_of(o.fanouts),
                        .replace = o.sampling == "replace",
                        .weighted = o.sampling == "weighted",
                        .labor = o.sampling == "labor"};
  o.subject.workers = static_cast<int>(o.workers);

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
               o.subject.width, o.dtype, fmt::join(rows, ", "));
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("bench", [&] { bench(argc, argv); });
}
