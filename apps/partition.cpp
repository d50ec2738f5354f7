// Writes a dataset with a partition of its nodes, which loaders of clusters take.

#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/core/run_files.h>
#include <adjoint/core/text.h>
#include <adjoint/graph/order/partition.h>

#include <chrono>
#include <limits>

using namespace adj;
using namespace adj::apps;
namespace po = boost::program_options;

namespace {

struct Options {
  std::string in, out;
  int64_t parts = 0, seed = 0, gzip = 0, threads = 0;
  PartitionOptions metis;
};

constexpr const char* kUsage = "partition IN.h5 OUT.h5 --parts K [OPTION]...";
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

/// False if --help was asked for and has been printed.
bool read(int argc, char** argv, Options& o) {
  po::options_description options("Options");
  options.add_options()("in", po::value(&o.in)->value_name("FILE"), "the dataset")(
      "out", po::value(&o.out)->value_name("FILE"), "the file to write; what stands there is replaced")(
      "parts", po::value(&o.parts)->value_name("K"), "how many; as many as nodes at most")(
      "imbalance", with_default(o.metis.imbalance, "X"), "how much larger than the mean a part may be")(
      "seed", with_default(o.seed), "of METIS")("gzip", with_default(o.gzip), "compression, 0 (none) to 9")(
      "threads", with_default(o.threads), "CPU threads (0: all), for all but METIS")("help", "print this");
  po::positional_options_description positional;
  positional.add("in", 1).add("out", 1);
  if (!read_options(argc, argv, options, positional, kUsage,
                    "Writes a dataset with a partition of its nodes, nodes/part."))
    return false;
  if (o.in.empty() || o.out.empty()) throw UsageError(fmt::format("expected {}", kUsage));
  expect_integer("parts", o.parts, 1, kMost);
  if (!(o.metis.imbalance >= 0.001 && o.metis.imbalance <= 10.0))
    throw UsageError(fmt::format("--imbalance: expected 0.001 to 10, got {}", o.metis.imbalance));
  expect_integer("seed", o.seed, 0, kMost);
  o.metis.seed = static_cast<uint64_t>(o.seed);
  expect_integer("gzip", o.gzip, 0, 9);
  expect_integer("threads", o.threads, 0, kMaxThreads);
  return true;
}

void partition(int argc, char** argv) {
  Options o;
  if (!read(argc, argv, o)) return;
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  RunFiles files;
  files.read("in", o.in);
  files.write("out", o.out);

  Dataset data = load_dataset(o.in);
  if (o.parts > data.num_nodes())
    throw UsageError(fmt::format("--parts: expected at most {}, the nodes of {}, got {}", data.num_nodes(),
                                 o.in, o.parts));
  const auto start = std::chrono::steady_clock::now();
  data.part = metis_partition(data.graph, o.parts, o.metis);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const PartitionSummary found = summarize_partition(data.graph, data.part);
  save_dataset(data, o.out, static_cast<int>(o.gzip));
  const int64_t edges = data.graph.num_edges();
  fmt::print("{}: {} nodes, {} directed edges in {} parts\n", printable(o.out), data.num_nodes(), edges,
             found.parts);
  fmt::print("edge cut {} ({:.1f} % of the edges), parts of {} to {} nodes, balance {:.3f}\n", found.cut,
             edges > 0 ? 100.0 * static_cast<double>(found.cut) / static_cast<double>(edges) : 0.0,
             found.smallest, found.largest, found.balance);
  fmt::print("parted in {:.2f} s\n", seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("partition", [&] { partition(argc, argv); });
}
