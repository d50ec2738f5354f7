#pragma once

#include "measure.h"

#include <optional>

namespace adj::apps {

/// Options of `bench`.
struct BenchOptions {
  std::vector<std::string> ops, orders;
  std::string graph = "arxiv", data, device = "cpu", fanouts = "15,10,5", peer = "none";
  ExactProducts products = ExactProducts::by_size;
  int64_t features = 128, classes = 40, threads = 0, repeats = 20, seed = 1, workers = 0;
  bool json = false, explain = false, no_capture = false, tf32 = false;
  Subject subject;  ///< all but its data
};

/// Empty if --version or --help was printed, which lists `all` ops. Throws UsageError.
std::optional<BenchOptions> read_bench_options(int argc, char** argv, const std::vector<Op>& all);

}  // namespace adj::apps
