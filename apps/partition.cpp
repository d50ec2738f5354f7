// Writes a dataset with a partition of its nodes, for cluster loaders.

#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/training/stopwatch.h>

#include <limits>

using namespace adj;
using namespace adj::apps;

namespace {

struct Options {
  std::string in, out;
  int64_t parts = 0, seed = 0, gzip = 0, threads = 0;
  PartitionOptions metis;
};

constexpr const char* kUsage = "partition IN.h5 OUT.h5 --parts K [OPTION]...";
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

/// False if --help or --version was printed.
bool read(int argc, char** argv, Options& o) {
  o.parts = kNotGiven;
  if (!read_options(argc, argv,
                    table_of({{"in", &o.in, "FILE", "dataset"},
                              {"out", &o.out, "FILE", "file to write; an existing one is replaced"},
                              {"parts", &o.parts, "K", "number of parts, at most the number of nodes", true,
                               IntegerRange{1, kMost}},
                              {"imbalance", &o.metis.imbalance, "X",
                               "allowed excess of a part over the mean size, as a fraction", true,
                               NumberRange{0.001, 10.0}},
                              {"seed", &o.seed, "N", "seed of METIS", true, IntegerRange{0, kMost}},
                              gzip_option(o.gzip),
                              {"threads", &o.threads, "N", "CPU threads (0: all), except for METIS", true,
                               IntegerRange{0, kMaxThreads}}}),
                    {"in", "out"}, kUsage, "Writes a dataset with a partition of its nodes, nodes/part."))
    return false;
  if (o.in.empty() || o.out.empty()) usage_fail("expected {}", kUsage);
  if (o.parts == kNotGiven) o.parts = 0;
  expect_integer("parts", o.parts, 1, kMost);
  o.metis.seed = static_cast<uint64_t>(o.seed);
  use_threads(o.threads);
  return true;
}

void partition(int argc, char** argv) {
  Options o;
  if (!read(argc, argv, o)) return;
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
