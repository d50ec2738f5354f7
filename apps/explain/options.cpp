#include "options.h"

#include "../common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/core/run_files.h>
#include <adjoint/data/detail/table_file.h>
#include <adjoint/training/options.h>

namespace adj::apps {

using models::ExplainMethod;

namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

void check(CommandOptions& o) {
  if (o.checkpoint.empty()) usage_fail("--checkpoint: expected a file");
  if (o.data.empty()) usage_fail("--data: expected a file");
  if ((o.node.empty() ? 0 : 1) + (o.graph.empty() ? 0 : 1) + (o.edge.empty() ? 0 : 1) != 1)
    usage_fail("expected one of --node NAME, --graph NAME and --edge FROM,TO");
  const models::ExplainOptions usual;
  for (const auto& [name, changed, method] :
       {std::tuple("epochs", o.explain.epochs != usual.epochs, ExplainMethod::gnn_explainer),
        {"lr", o.explain.lr != usual.lr, ExplainMethod::gnn_explainer},
        {"seed", o.seed != 1, ExplainMethod::gnn_explainer},
        {"steps", o.explain.steps != usual.steps, ExplainMethod::integrated_gradients}})
    if (changed && o.explain.method != method)
      usage_fail("--{}: requires --method {}", name, name_of(method));
  if (!o.features.empty() && o.explain.method == ExplainMethod::attention)
    usage_fail("--features: --method attention says nothing of features");
  o.explain.seed = static_cast<uint64_t>(o.seed);
  for (const auto& [name, path] : {std::pair("edges", &o.edges), {"features", &o.features}})
    if (!path->empty() && !adj::detail::is_table(*path))
      usage_fail("--{}: expected FILE.csv or FILE.jsonl, got '{}'", name, *path);
  if (!o.picture.empty() && !o.picture.ends_with(".svg"))
    usage_fail("--picture: expected FILE.svg, got '{}'", o.picture);
  RunFiles files;
  files.read("data", o.data);
  files.read("checkpoint", o.checkpoint);
  for (const auto& [name, path] :
       {std::pair("edges", &o.edges), {"features", &o.features}, {"picture", &o.picture}})
    if (!path->empty()) files.write(name, *path);
}

}  // namespace

std::optional<CommandOptions> read_explain_options(int argc, char** argv) {
  CommandOptions o;
  const OptionList options{
      {"checkpoint", &o.checkpoint, "FILE", "checkpoint of a training"},
      {"data", &o.data, "FILE", "dataset in HDF5, as for predict; also the first argument"},
      {"node", &o.node, "NAME", "explain the prediction for this node, by name, or by number without names"},
      {"graph", &o.graph, "NAME", "for a model of graphs: for this graph, likewise"},
      {"edge", &o.edge, "FROM,TO",
       "for a model of links: for a pair of nodes; for one of edges: for the edge between them"},
      {"class", &o.output, "NAME",
       "class, label or target to explain, by name or number (default: the predicted class, the most "
       "probable label)"},
      {"method", Choice(&o.explain.method), "NAME",
       "gnn_explainer (learns masks that keep the prediction; Ying et al. 2019), integrated_gradients "
       "(attributions that add up to the output; Sundararajan et al. 2017) or attention (the largest "
       "coefficient of all heads and layers, for GAT, GATv2, Transformer and AGNN)"},
      {"top", &o.top, "K", "edges and features that are shown, and edges that are kept for fidelity", true,
       IntegerRange{1, kMost}},
      {"edges", &o.edges, "FILE",
       "write from, to and importance of every edge that reaches the target to FILE.csv or FILE.jsonl, the "
       "most important first"},
      {"features", &o.features, "FILE", "write feature and importance likewise"},
      {"picture", &o.picture, "FILE", "draw the most important edges to FILE.svg"},
      {"epochs", &o.explain.epochs, "N", "steps of gnn_explainer", true, IntegerRange{1, kMostCounted}},
      {"lr", &o.explain.lr, "X", "its learning rate", true, kPositive},
      {"seed", &o.seed, "N", "seed of its first masks", true,
       IntegerRange{0, std::numeric_limits<int64_t>::max()}},
      {"steps", &o.explain.steps, "N", "points of integrated_gradients' quadrature", true,
       IntegerRange{1, 10'000}},
      training::escape_formulas_option(o.escape_formulas),
      {"device", &o.device, "NAME", "cpu, cuda or cuda:1"},
      threads_option(o.threads),
      {"json", &o.json, "", "print one JSON object at the end"},
      {"quiet", &o.quiet, "", "print nothing; with --json only the object"}};
  if (!read_options(argc, argv, table_of(options), {"data"},
                    "explain DATA.h5 --checkpoint FILE --node NAME [OPTION]...",
                    "Says which edges and features a prediction rests on."))
    return {};
  check(o);
  use_threads(o.threads);
  return o;
}

}  // namespace adj::apps
