// Writes a dataset with a partition of its nodes, for cluster loaders, or says what a training over several
// devices would fetch.

#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/training/stopwatch.h>

#include <algorithm>
#include <limits>

using namespace adj;
using namespace adj::apps;

namespace {

struct Options {
  std::string in, out;
  int64_t parts = 0, plan = 0, width = 256, seed = 0, gzip = 0, threads = 0;
  double link = 0.0;  // GB/s; 0: no times
  std::string device = "cpu";
  PartitionOptions metis;
};

constexpr const char* kUsage = "partition IN.h5 OUT.h5 --parts K [OPTION]...";
constexpr const char* kPlanUsage = "partition IN.h5 --plan N [--width F] [--link X] [--device NAME]";
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

/// False if --help or --version was printed.
bool read(int argc, char** argv, Options& o) {
  o.parts = kNotGiven;
  if (!read_options(
          argc, argv,
          table_of(
              {{"in", &o.in, "FILE", "dataset"},
               {"out", &o.out, "FILE", "file to write; an existing one is replaced"},
               {"parts", &o.parts, "K", "number of parts, at most the number of nodes", true,
                IntegerRange{1, kMost}},
               {"plan", &o.plan, "N",
                "instead, for 1 to N ranks of train_* --devices: nodes, edges and halo of the "
                "rank with the most, of consecutive nodes (reorder metis first)",
                false, IntegerRange{0, RowCut::kParts}},
               {"width", &o.width, "F", "with --plan, numbers of a row", true, IntegerRange{1, 1 << 20}},
               {"link", &o.link, "X",
                "with --plan, GB/s that a rank receives: how much faster sums over neighbours would be, from "
                "the time of one here, if nothing hides the fetching",
                false, NumberRange{0.0, 1e6}},
               {"device", &o.device, "NAME", "of that time: cpu, cuda or cuda:1", false},
               {"imbalance", &o.metis.imbalance, "X",
                "allowed excess of a part over the mean size, as a fraction", true, NumberRange{0.001, 10.0}},
               {"seed", &o.seed, "N", "seed of METIS", true, IntegerRange{0, kMost}},
               gzip_option(o.gzip),
               {"threads", &o.threads, "N", "CPU threads (0: all), except for METIS", true,
                IntegerRange{0, kMaxThreads}}}),
          {"in", "out"}, kUsage, "Writes a dataset with a partition of its nodes, nodes/part."))
    return false;
  if (o.plan > 0 && (!o.out.empty() || o.parts != kNotGiven)) usage_fail("--plan: expected {}", kPlanUsage);
  if (o.plan == 0 && o.link > 0.0) usage_fail("--link: requires --plan");
  use_threads(o.threads);
  if (o.plan > 0 && !o.in.empty()) return true;
  if (o.in.empty() || o.out.empty()) usage_fail("expected {}, or {}", kUsage, kPlanUsage);
  if (o.parts == kNotGiven) o.parts = 0;
  expect_integer("parts", o.parts, 1, kMost);
  o.metis.seed = static_cast<uint64_t>(o.seed);
  return true;
}

/// Seconds of a sum over all nodes' neighbours, the median of several.
double time_sum(const Graph& graph, int64_t width) {
  const Tensor x =
      random_normal({graph.num_nodes(), width}, 0.0, 1.0, default_generator()).to(graph.device());
  const SparseMatrix& matrix = graph.adjacency();
  const NoGrad no_grad;
  std::vector<double> times;
  for (int repeat = 0; repeat < 6; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    (void)aggregate(matrix, Var(x));
    synchronize(graph.device());
    if (repeat > 0) times.push_back(training::seconds_since(start));  // the first makes what later ones use
  }
  std::nth_element(times.begin(), times.begin() + 2, times.end());
  return times[2];
}

/// A line for each power of two up to the number of ranks, and for that.
void print_plan(const Options& o) {
  const Dataset data = load_dataset(o.in);
  std::vector<int64_t> ranks;
  for (int64_t count = 1; count < o.plan; count *= 2) ranks.push_back(count);
  ranks.push_back(o.plan);
  fmt::print("{}: {} nodes, {} directed edges; rows of {} numbers of 4 bytes\n", printable(o.in),
             data.num_nodes(), data.graph.num_edges(), o.width);
  const double row = 4e-6 * static_cast<double>(o.width), edges = static_cast<double>(data.graph.num_edges());
  double sum_ms = 0.0;
  if (o.link > 0.0) {
    sum_ms = 1e3 * time_sum(data.graph.to(Device::parse(o.device)), o.width);
    fmt::print("a sum over neighbours on {}: {:.3f} ms, {:.1f} GB/s of rows\n", o.device, sum_ms,
               edges * row / sum_ms);
  }
  fmt::print("{:>5}{:>12}{:>14}{:>9}{:>12}{:>10}{:>12}{:>12}{}\n", "ranks", "nodes", "edges", "excess",
             "halo", "share", "MB fetched", "MB kept", o.link > 0.0 ? "    sum ms  fetch ms  speed-up" : "");
  for (const RankPlan& plan : plan_ranks(data.graph, ranks)) {
    const int64_t others = data.num_nodes() - plan.nodes;
    const auto nodes = static_cast<double>(plan.nodes), halo = static_cast<double>(plan.halo);
    // Rows of one layer, and the edges in both directions.
    const double kept = row * (nodes + halo) + 8e-6 * static_cast<double>(plan.edges) + 16e-6 * nodes;
    fmt::print("{:>5}{:>12}{:>14}{:>8.1f}%{:>12}{:>9.1f}%{:>12.1f}{:>12.1f}", plan.ranks, plan.nodes,
               plan.edges, 100.0 * plan.excess, plan.halo,
               others > 0 ? 100.0 * halo / static_cast<double>(others) : 0.0, row * halo, kept);
    if (o.link > 0.0) {
      const double sum = edges > 0.0 ? sum_ms * static_cast<double>(plan.edges) / edges : 0.0;
      const double fetch = row * halo / o.link;
      fmt::print("{:>10.3f}{:>10.3f}{:>9.2f}x", sum, fetch, sum + fetch > 0.0 ? sum_ms / (sum + fetch) : 1.0);
    }
    fmt::print("\n");
  }
}

void partition(int argc, char** argv) {
  Options o;
  if (!read(argc, argv, o)) return;
  if (o.plan > 0) return print_plan(o);
  RunFiles files;
  files.read("in", o.in);
  files.write("out", o.out);

  Dataset data = load_dataset(o.in);
  if (o.parts > data.num_nodes())
    usage_fail("--parts: expected at most {}, the number of nodes in {}, got {}", data.num_nodes(), o.in,
               o.parts);
  const auto start = std::chrono::steady_clock::now();
  data.part = metis_partition(data.graph, o.parts, o.metis);
  const double seconds = training::seconds_since(start);
  const PartitionSummary found = summarize_partition(data.graph, data.part);
  save_dataset(data, o.out, static_cast<int>(o.gzip));
  const int64_t edges = data.graph.num_edges();
  fmt::print("{}: {} nodes, {} directed edges in {} parts\n", printable(o.out), data.num_nodes(), edges,
             found.parts);
  fmt::print("edge cut {} ({:.1f} % of the edges), parts of {} to {} nodes, balance {:.3f}\n", found.cut,
             edges > 0 ? 100.0 * static_cast<double>(found.cut) / static_cast<double>(edges) : 0.0,
             found.smallest, found.largest, found.balance);
  fmt::print("partitioned in {:.2f} s\n", seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("partition", [&] { partition(argc, argv); });
}
