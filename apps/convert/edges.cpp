#include "formats.h"
#include "node_options.h"
#include <adjoint/adjoint.h>
#include <adjoint/data/import/edge_list.h>

#include <memory>

namespace adj::apps {

namespace {

struct EdgeArguments {
  explicit EdgeArguments(std::shared_ptr<const SplitOptions> splits) : nodes(std::move(splits)) {}

  EdgeListOptions edges;
  TextOptions text;
  NodeOptions nodes;
  std::string weight_column;
  bool unweighted = false;

  /// Refuses what only some layouts have.
  void check_layout(const EdgeListOptions& o) const {
    const bool matrix = o.layout == EdgeLayout::matrix;
    if (!o.variable.empty() && !matrix) usage_fail("--variable: requires --layout matrix");
    if (o.layout == EdgeLayout::list) return;
    for (const auto& [name, chosen] : {std::pair("source, --target", !o.columns.source.empty()),
                                       {"weight COLUMN", o.columns.weighted()},
                                       {"edge-label", !o.columns.label.empty()},
                                       {"nodes", o.nodes > 0},
                                       {"ids numbers", o.ids == NodeIds::Kind::numbers},
                                       {"missing-ids drop", o.missing_ids == MissingIds::drop},
                                       {"ids", matrix && o.ids},
                                       {"missing-ids", matrix && o.missing_ids != MissingIds::fail},
                                       {"header", !matrix && o.header != Header::find_out}})
      if (chosen) usage_fail("--{}: conflicts with --layout {}", name, name_of(o.layout));
  }
  /// Throws UsageError.
  EdgeListOptions checked() const {
    EdgeListOptions o = edges;
    if (o.nodes < 0 || o.nodes > NodeIds::kMost)
      usage_fail("--nodes: expected 0 to {}, got {}", NodeIds::kMost, o.nodes);
    if (o.nodes > 0 && o.ids != NodeIds::Kind::numbers) usage_fail("--nodes: requires --ids numbers");
    if (o.columns.source.empty() != o.columns.target.empty())
      usage_fail("--source, --target: expected both or neither");
    if ((!weight_column.empty() || unweighted) &&
        (!o.columns.weight.empty() || !weight_column.empty() == unweighted))
      usage_fail(
          "--weight-column, --unweighted: older forms of --weight COLUMN and --weight none, expected one of "
          "them");
    if (unweighted) o.columns.weight = "none";
    if (!weight_column.empty()) o.columns.weight = weight_column;
    check_layout(o);
    o.text = text.format();
    check_edge_labels(o);
    o.node_files = nodes.files(o.ids == NodeIds::Kind::names,
                               o.columns.label.empty() ? std::nullopt : std::optional(o.edge_task));
    return o;
  }

  static void check_edge_labels(const EdgeListOptions& o) {
    if (o.columns.label.empty() && o.edge_task != Task::edge_class)
      usage_fail("--edge-task: requires --edge-label COLUMN");
    if (!o.columns.label.empty() && o.coalesce)
      usage_fail("--edge-label: conflicts with --coalesce, as equal edges may have different labels");
  }
};

}  // namespace

Format edges_format(std::shared_ptr<const SplitOptions> splits) {
  const auto arguments = std::make_shared<EdgeArguments>(std::move(splits));
  EdgeListOptions& o = arguments->edges;
  Format format{"edges",
                "an edge list: SNAP text, CSV, or Matrix Market, plain or gzip, also from a pipe (-: "
                "standard input), or a table of an SQLite file (shop.db:orders)",
                {{"layout", &o.layout, "NAME",
                  "list: an edge in each line; neighbors: a node and its neighbours in each line, as \"a: b "
                  "c\"; matrix: a square matrix as text, Matrix Market, .npy, .npz or .mat"},
                 {"variable", &o.variable, "NAME", "the matrix, if a file has several"},
                 {"ids", &o.ids, "NAME",
                  "integers or names: numbered by first appearance, and kept; numbers: 0 to N - 1, "
                  "unchanged; auto: by the first edge"},
                 {"nodes", &o.nodes, "N", "with --ids numbers: minimum number of nodes"},
                 {"header", &o.header, "NAME",
                  "yes or no, or comment: the one above the first line; auto: yes if that has no number, its "
                  "ids appear nowhere else, and "
                  "the lines below differ; an error if it may be an edge"}},
                {}};
  format.options += arguments->text.list("of all files");
  format.options += OptionList{
      {"source", &o.columns.source, "COLUMN",
       "column of source ids: its name in the header, or its number from 1 (default: by names as source, "
       "src, from, head or :START_ID, else the first)"},
      {"target", &o.columns.target, "COLUMN", "the same for target ids (target, dst, to, tail, :END_ID, …)"},
      {"weight", &o.columns.weight, "COLUMN",
       "column of edge weights (default: one called weight); none: no weights, also of a Matrix Market file"},
      {"edge-label", &o.columns.label, "COLUMN",
       "column of edge labels, for train_edge; --split then divides the labelled edges"},
      {"edge-task", Choice(&o.edge_task, {Task::edge_class, Task::edge_regression}), "NAME",
       "kind of edge labels: edge_class (any text, sorted) or edge_regression (numbers)"},
      {"weight-column", &arguments->weight_column, "COLUMN", "older name of --weight"},
      {"unweighted", &arguments->unweighted, "", "older name of --weight none"},
      {"missing-ids", &o.missing_ids, "NAME",
       "lines whose source or target is empty, NA, nan, null, none, ?, \\N, NaT, <NA> or #N/A: error, drop, "
       "or keep (as a name)"},
      {"undirected", &o.undirected, "", "add the reverse of each edge"},
      {"coalesce", &o.coalesce, "", "merge equal edges, adding their weights"},
      {"drop-self-loops", &o.drop_self_loops, "", "remove self-loops"}};
  format.options += arguments->nodes.list();
  format.draws_splits = true;
  format.import = [arguments](const std::string& input, auto& notes) {
    return import_edge_list(input, arguments->checked(), &notes);
  };
  format.files = [arguments] { return arguments->nodes.paths(); };
  return format;
}

}  // namespace adj::apps
