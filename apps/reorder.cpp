// Writes a dataset with its nodes in another order, so that what is gathered together lies together.

#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/core/run_files.h>
#include <adjoint/core/text.h>
#include <adjoint/data/reordered.h>
#include <adjoint/graph/order/orders.h>
#include <adjoint/graph/order/partition.h>

#include <chrono>
#include <limits>
#include <numeric>

#include <fmt/ranges.h>

using namespace adj;
using namespace adj::apps;
namespace po = boost::program_options;

namespace {

struct Options {
  std::string order, in, out;
  int64_t parts = 0, seed = 0, gzip = 0, threads = 0;
};

constexpr const char* kUsage = "reorder ORDER IN.h5 OUT.h5 [OPTION]...";
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

/// False if --help was asked for and has been printed.
bool read(int argc, char** argv, Options& o) {
  std::vector<std::string> orders = order_names();
  orders.insert(orders.end(), {"part", "original"});
  po::options_description options("Options");
  options.add_options()("order", po::value(&o.order)->value_name("ORDER"),
                        fmt::format("{}: of these, part gathers the parts of the file's own partition, and "
                                    "original undoes what was reordered",
                                    fmt::join(orders, ", "))
                            .c_str())("in", po::value(&o.in)->value_name("FILE"), "the dataset")(
      "out", po::value(&o.out)->value_name("FILE"), "the file to write; what stands there is replaced")(
      "parts", with_default(o.parts),
      fmt::format("blocks of the order metis (0: one for every {} nodes)", kNodesPerBlock).c_str())(
      "seed", with_default(o.seed), "of metis and random")("gzip", with_default(o.gzip),
                                                           "compression, 0 (none) to 9")(
      "threads", with_default(o.threads), "CPU threads (0: all)")("help", "print this");
  po::positional_options_description positional;
  positional.add("order", 1).add("in", 1).add("out", 1);
  if (!read_options(argc, argv, options, positional, kUsage,
                    "Writes a dataset with its nodes in another order."))
    return false;
  if (o.order.empty() || o.in.empty() || o.out.empty()) throw UsageError(fmt::format("expected {}", kUsage));
  expect_one_of("order", o.order, orders);
  expect_integer("parts", o.parts, 0, kMost);
  if (o.parts > 0 && o.order != "metis")
    throw UsageError(fmt::format("--parts: expected with the order metis, not with {}", o.order));
  expect_integer("seed", o.seed, 0, kMost);
  expect_integer("gzip", o.gzip, 0, 9);
  expect_integer("threads", o.threads, 0, kMaxThreads);
  return true;
}

Tensor as_they_stand(int64_t nodes) {
  std::vector<int32_t> order(static_cast<size_t>(nodes));
  std::iota(order.begin(), order.end(), 0);
  return Tensor::from(order);
}

/// The order, and the partition that it goes by where it does.
struct Chosen {
  Tensor order, part;
};

Chosen choose(const Dataset& data, const Options& o) {
  if (o.order == "original")
    return {data.order ? inverse_order(data.order) : as_they_stand(data.num_nodes()), {}};
  const auto seed = static_cast<uint64_t>(o.seed);
  Tensor part;
  if (o.order == "metis")
    part = metis_partition(data.graph, o.parts > 0 ? o.parts : blocks_of(data.num_nodes()), {.seed = seed});
  if (o.order == "part") part = data.part;
  if (o.order == "part" && !part) data_fail("{}: nodes/part: missing, `partition` would write it", o.in);
  if (!part)
    return {named_order(o.order, data.graph, {.seed = seed, .graph_offsets = data.graph_offsets}), {}};
  const Tensor order = order_by_part(part);
  return {data.graph_offsets ? order_within(order, data.graph_offsets) : order, part};
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print_spans(const char* when, const Graph& graph) {
  const EdgeSpans spans = edge_spans(graph);
  fmt::print("{:6} bandwidth {}, distance of an edge's ends {:.1f} in the mean, {} in the median\n", when,
             spans.bandwidth, spans.mean, spans.median);
}

void reorder(int argc, char** argv) {
  Options o;
  if (!read(argc, argv, o)) return;
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
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
  fmt::print("ordered in {:.2f} s\n", seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("reorder", [&] { reorder(argc, argv); });
}
