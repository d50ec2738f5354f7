#include "options.h"

#include "../../bench/ops/cusparse.h"
#include "../common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/kernels/bits/bit_tensor.h>
#include <adjoint/training/loader.h>

#include <fmt/ranges.h>

namespace adj::apps {

namespace {

/// Method of drawing neighbours.
enum class Sampling : uint8_t { uniform, replace, weighted, labor };
constexpr auto names_of(Sampling) { return std::array{"uniform", "replace", "weighted", "labor"}; }

void check(const BenchOptions& o) {
  (void)training::fanouts_of(o.fanouts);
  for (const std::string& order : o.orders) expect_one_of("order", order, order_names());
  expect_one_of("peer", o.peer, {"none", "cusparse"});
  if (o.peer != "none" && (!ops::has_cusparse() || Device::parse(o.device).is_cpu()))
    usage_fail("--peer {}: requires a GPU and a build with CUDA, whose toolkit brings it", o.peer);
}

}  // namespace

std::optional<BenchOptions> read_bench_options(int argc, char** argv, const std::vector<Op>& all) {
  BenchOptions o;
  Subject& s = o.subject;
  Sampling sampling = Sampling::uniform;
  const OptionList options{
      {"graph", &o.graph, "NAME", fmt::format("generated graph: {}", fmt::join(graph_names(), ", "))},
      {"data", &o.data, "FILE", "dataset in HDF5 instead"},
      {"order", &o.orders, "NAME",
       fmt::format("reorder the nodes: {}; repeatable, applied in sequence", fmt::join(order_names(), ", "))},
      {"parts", &s.parts, "N", "blocks of the metis order, and clusters (0: by the number of nodes)", true,
       IntegerRange{.low = 0}},
      {"parts-per-batch", &s.parts_per_batch, "N", "clusters per batch", true, IntegerRange{.low = 1}},
      {"features", &o.features, "N", "features per node of a generated graph", true, IntegerRange{.low = 1}},
      {"classes", &o.classes, "N", "classes of a generated graph", true, IntegerRange{.low = 2}},
      {"width", &s.width, "N", "width of the kernels' features", true, IntegerRange{.low = 1}},
      {"heads", &s.heads, "N", "attention heads, sharing the width; reduced if they do not divide it", true,
       IntegerRange{.low = 1}},
      {"out", &s.out, "N", "columns of a dense product", true, IntegerRange{.low = 1}},
      {"dtype", Choice(&s.dtype, {DType::f32, DType::bf16}), "TYPE",
       "dtype of sparse products, attention and trained models: float32, bfloat16"},
      {"tf32", &o.tf32, "", "on a GPU, dense products in TF32"},
      {"products", &o.products, "METHOD",
       "on a Hopper GPU, method of exact dense products: by-size, float32, split"},
      {"edges", &s.edges, "ORDER", "order of edge lists: by-source, by-target, shuffled"},
      {"scatter", &s.scatter, "SUMS",
       "on a GPU, sums of spmm_coo: fixed-point, float-atomics (not reproducible)"},
      {"hidden", &s.hidden, "N", "width of trained models", true, IntegerRange{.low = 1}},
      {"layers", &s.layers, "N", "layers of trained models", true, IntegerRange{.low = 1}},
      {"norm", Choice(&s.norm, {models::Norm::batch, models::Norm::none}), "NAME",
       "norm between layers: batch, none"},
      {"dropout", &s.dropout, "P", "dropout probability", true, kProbability},
      {"attention-dropout", &s.attention_dropout, "P", "dropout probability of attention coefficients", true,
       kProbability},
      {"no-capture", &o.no_capture, "", "on a GPU, launch each kernel instead of a CUDA graph"},
      {"fanouts", &o.fanouts, "LIST", "sampled in-edges per node and hop, from the seeds outwards"},
      {"sampling", &sampling, "METHOD", "uniform, replace, weighted (by edge weights) or labor"},
      {"batch-size", &s.batch_size, "N", "seeds per mini-batch", true, IntegerRange{.low = 1}},
      {"workers", &o.workers, "N", "threads that prepare mini-batches", true, IntegerRange{0, kMaxThreads}},
      {"size", &s.size, "N", "rows and columns of a bit matrix", true, IntegerRange{.low = 1}},
      {"bits-a", &s.bits_a, "N", "bits of the left operand, 1 to 8", true,
       IntegerRange{1, BitTensor::kMostBits}},
      {"bits-b", &s.bits_b, "N", "bits of the right operand, 1 to 8", true,
       IntegerRange{1, BitTensor::kMostBits}},
      {"least", &s.least, "N", "minimum entries in a window's column to store it in tiles, 1 to 128", true,
       IntegerRange{.low = 1}},
      {"device", &o.device, "NAME", "cpu, cuda or cuda:1"},
      {"threads", &o.threads, "N", "CPU threads (0: all)", true, IntegerRange{0, kMaxThreads}},
      {"repeats", &o.repeats, "N", "rounds; the median is reported", true, IntegerRange{.low = 1}},
      {"seed", &o.seed, "N", "seed of generated data", true, IntegerRange{.low = 0}},
      {"peer", &o.peer, "NAME", "none, or cusparse: its kernel after each op that it has one for"},
      {"explain", &o.explain, "", "print which kernels were chosen"},
      {"json", &o.json, "", "print one JSON object at the end"},
      {"op", &o.ops, "NAME", "an op to run, also as argument"}};
  std::string summary = "Times kernels and training epochs (default: all kernels).\n\nOps:";
  for (const Op& op : all) summary += fmt::format("\n  {:20} {}", op.name, op.summary);
  if (!read_options(argc, argv, table_of(options, ""), {"op..."}, "bench [OP]... [OPTION]...", summary))
    return {};
  check(o);
  s.capture = !o.no_capture;
  s.sampling = {.fanouts = training::fanouts_of(o.fanouts),
                .replace = sampling == Sampling::replace,
                .weighted = sampling == Sampling::weighted,
                .labor = sampling == Sampling::labor};
  s.workers = static_cast<int>(o.workers);
  return o;
}

}  // namespace adj::apps
