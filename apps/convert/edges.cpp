#include "../common.h"
#include "formats.h"
#include <adjoint/data/import/edge_list.h>

#include <memory>

namespace po = boost::program_options;

namespace adj::apps {

namespace {

struct Given {
  EdgeListOptions edges;
  std::string ids = "auto", task = "node_class";

  /// Throws UsageError.
  EdgeListOptions checked() const {
    EdgeListOptions o = edges;
    if (ids == "integers")
      o.ids = NodeIds::Kind::integers;
    else if (ids == "names")
      o.ids = NodeIds::Kind::names;
    else if (ids == "numbers")
      o.ids = NodeIds::Kind::numbers;
    else if (ids != "auto")
      throw UsageError(fmt::format("--ids {}: expected auto, integers, names or numbers", ids));
    if (o.nodes < 0 || o.nodes > NodeIds::kMost)
      throw UsageError(fmt::format("--nodes: expected 0 to {}, got {}", NodeIds::kMost, o.nodes));
    if (o.nodes > 0 && ids != "numbers") throw UsageError("--nodes: expected --ids numbers with it");
    if (o.weight_column < 0 || o.weight_column == 1 || o.weight_column == 2)
      throw UsageError(fmt::format("--weight-column: expected 3 or more, or 0, got {}", o.weight_column));
    NodeFiles& files = o.node_files;
    for (Task known : {Task::node_class, Task::node_multilabel, Task::node_regression})
      if (task == name_of(known)) files.task = known;
    if (task != name_of(files.task))
      throw UsageError(
          fmt::format("--task {}: expected node_class, node_multilabel or node_regression", task));
    if (files.train.empty() != files.val.empty() || files.val.empty() != files.test.empty())
      throw UsageError("--train, --val, --test: expected all three or none");
    if (ids == "names" && (files.features_by_row || files.labels_by_row))
      throw UsageError("--features-by-row, --labels-by-row: expected ids that are integers");
    return o;
  }
};

}  // namespace

Format edges_format() {
  const auto given = std::make_shared<Given>();
  EdgeListOptions& o = given->edges;
  NodeFiles& files = o.node_files;
  Format format{"edges",
                "a list of edges: SNAP's text, CSV, or Matrix Market, plain or gzip",
                po::options_description("Options of edges"),
                {}};
  const auto file = [](std::string& path) { return po::value(&path)->value_name("FILE"); };
  format.options.add_options()(
      "ids", with_default(given->ids),
      "integers or names, which are numbered in order of first appearance and kept; numbers "
      "0 to N - 1 as they are; auto: as the first edge has them")("nodes", with_default(o.nodes),
                                                                  "with --ids numbers: so many at least")(
      "header", po::bool_switch(&o.header), "the first line is one (auto: if only its ids are no integers)")(
      "weight-column", with_default(o.weight_column), "of weights, counted from 1 (0: none)")(
      "unweighted", po::bool_switch(&o.unweighted), "leave out the values of a Matrix Market file")(
      "undirected", po::bool_switch(&o.undirected), "an edge stands for both directions: reverses are added")(
      "coalesce", po::bool_switch(&o.coalesce), "equal edges become one, weights added")(
      "drop-self-loops", po::bool_switch(&o.drop_self_loops), "leave out edges from a node to itself")(
      "features", file(files.features), "a line a node: its id and numbers")(
      "features-by-row", po::bool_switch(&files.features_by_row),
      "no id: row i, from 0, is the node's with the id i")(
      "labels", file(files.labels), "a line a node: its id and label; without one it is unlabelled")(
      "labels-by-row", po::bool_switch(&files.labels_by_row),
      "no id: row i, from 0, is the node's with the id i")(
      "task", with_default(given->task),
      "what labels are: node_class (any text, sorted), node_multilabel (0 or 1 in each column), "
      "node_regression")("node-headers", po::bool_switch(&files.headers),
                         "the first lines of --features and --labels are headers")(
      "train", file(files.train), "ids of nodes, one a line")("val", file(files.val), "likewise")(
      "test", file(files.test), "likewise");
  format.import = [given](const std::string& input) { return import_edge_list(input, given->checked()); };
  format.files = [given]() -> std::vector<std::pair<std::string, std::string>> {
    const NodeFiles& named = given->edges.node_files;
    return {{"features", named.features},
            {"labels", named.labels},
            {"train", named.train},
            {"val", named.val},
            {"test", named.test}};
  };
  return format;
}

}  // namespace adj::apps
