#pragma once

#include <adjoint/models/explain/explainer.h>

#include <optional>
#include <string>

namespace adj::apps {

/// Options of `explain`.
struct CommandOptions {
  std::string checkpoint, data, device = "cpu";
  std::string node, graph, edge;         ///< one of them is given
  std::string output;                    ///< name or number of the class to explain; empty: the predicted one
  std::string edges, features, picture;  ///< files; empty: not asked for
  models::ExplainOptions explain;
  int64_t top = 10, seed = 1, threads = 0;
  bool json = false, quiet = false, escape_formulas = false;

  /// The option that says the target, "node", "graph" or "edge", and its value.
  const char* target_option() const { return !node.empty() ? "node" : !graph.empty() ? "graph" : "edge"; }
  const std::string& target() const { return !node.empty() ? node : !graph.empty() ? graph : edge; }
};

/// Empty if --help or --version was printed. Throws UsageError.
std::optional<CommandOptions> read_explain_options(int argc, char** argv);

}  // namespace adj::apps
