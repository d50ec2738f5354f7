// Writes a dataset with its nodes reordered for memory locality of gathers.

#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/data/detail/batch_data.h>
#include <adjoint/training/stopwatch.h>

#include <limits>

#include <fmt/ranges.h>

using namespace adj;
using namespace adj::apps;
using training::seconds_since;

namespace {

struct Options {
  std::string order, in, out;
  int64_t parts = 0, seed = 0, gzip = 0, threads = 0;
};

constexpr const char* kUsage = "reorder ORDER IN.h5 OUT.h5 [OPTION]...";
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

/// False if --help or --version was printed.
bool read(int argc, char** argv, Options& o) {
  std::vector<std::string> orders = order_names();
  orders.insert(orders.end(), {"part", "original"});
  if (!read_options(
          argc, argv,
          table_of(
              {{"order", &o.order, "ORDER",
                fmt::format("{}; part groups nodes by the file's own partition, original undoes a reordering",
                            fmt::join(orders, ", "))},
               {"in", &o.in, "FILE", "dataset"},
               {"out", &o.out, "FILE", "file to write; an existing one is replaced"},
               {"parts", &o.parts, "N",
                fmt::format("blocks of the metis order (0: one per {} nodes)", kNodesPerBlock), true,
                IntegerRange{0, kMost}},
               {"seed", &o.seed, "N", "seed of metis and random", true, IntegerRange{0, kMost}},
               gzip_option(o.gzip),
               threads_option(o.threads)}),
          {"order", "in", "out"}, kUsage, "Writes a dataset with its nodes reordered."))
    return false;
  if (o.order.empty() || o.in.empty() || o.out.empty()) usage_fail("expected {}", kUsage);
  expect_one_of("order", o.order, orders);
  if (o.parts > 0 && o.order != "metis") usage_fail("--parts: requires the order metis, got {}", o.order);
  use_threads(o.threads);
  return true;
}

/// The order, and its partition if it has one.
struct Chosen {
  Tensor order, part;
};

Chosen choose(const Dataset& data, const Options& o) {
  if (o.order == "original")
    return {data.order ? inverse_order(data.order) : detail::numbers(data.num_nodes()), {}};
  const auto seed = static_cast<uint64_t>(o.seed);
  Tensor part;
  if (o.order == "metis")
    part = metis_partition(data.graph, o.parts > 0 ? o.parts : blocks_of(data.num_nodes()), {.seed = seed});
  if (o.order == "part") part = data.part;
  if (o.order == "part" && !part) data_fail("{}: nodes/part: missing; `partition` writes it", o.in);
  if (!part)
    return {named_order(o.order, data.graph, {.seed = seed, .graph_offsets = data.graph_offsets}), {}};
  const Tensor order = order_by_part(part);
  return {data.graph_offsets ? order_within(order, data.graph_offsets) : order, part};
}

void print_spans(const char* when, const Graph& graph) {
  const EdgeSpans spans = edge_spans(graph);
  fmt::print("{:6} bandwidth {}, distance between the ends of an edge: mean {:.1f}, median {}\n", when,
             spans.bandwidth, spans.mean, spans.median);
}

void reorder(int argc, char** argv) {
  Options o;
  if (!read(argc, argv, o)) return;
  RunFiles files;
  files.read("in", o.in);
  files.write("out", o.out);

  Dataset data = load_dataset(o.in);
  const auto start = std::chrono::steady_clock::now();
  const Chosen chosen = choose(data, o);
  const double seconds = seconds_since(start);
  fmt::print("{}: {} nodes, {} directed edges, order {}\n", printable(o.out), data.num_nodes(),
             data.graph.num_edges(), o.order);
  if (chosen.part) {
    const PartitionSummary cut = summarize_partition(data.graph, chosen.part);
    fmt::print("edge cut {} of {} parts\n", cut.cut, cut.parts);
  }
  print_spans("before", data.graph);
  data = reordered(data, chosen.order);
  print_spans("after", data.graph);
  save_dataset(data, o.out, static_cast<int>(o.gzip));
  fmt::print("reordered in {:.2f} s\n", seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("reorder", [&] { reorder(argc, argv); });
}
