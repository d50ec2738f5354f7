#include "../common/command_line.h"
#include "formats.h"
#include <adjoint/adjoint.h>
#include <adjoint/data/import/ogb.h>

#include <memory>
#include <sstream>

namespace po = boost::program_options;

namespace adj::apps {

namespace {

struct Given {
  OgbOptions options;
  std::string task = "auto", node_tables;
  int64_t label_column = -1;

  /// Throws UsageError.
  OgbOptions checked() const {
    OgbOptions o = options;
    if (task == "class")
      o.labels = LabelKind::classes;
    else if (task == "multilabel")
      o.labels = LabelKind::multilabel;
    else if (task == "regression")
      o.labels = LabelKind::regression;
    else if (task != "auto")
      throw UsageError(fmt::format("--task {}: expected auto, class, multilabel or regression", task));
    if (label_column < -1) throw UsageError("--label-column: expected 0 or more, or -1 for all");
    if (label_column >= 0) o.label_column = label_column;
    std::istringstream names(node_tables);
    for (std::string name; std::getline(names, name, ',');) o.node_tables.push_back(name);
    return o;
  }
};

}  // namespace

Format ogb_format() {
  const auto given = std::make_shared<Given>();
  Format format{"ogb",
                "a folder of the Open Graph Benchmark, of raw/ and split/",
                po::options_description("Options of ogb"),
                {}};
  format.options.add_options()(
      "add-inverse-edges", po::bool_switch(&given->options.inverse_edges),
      "each edge stands for both directions: the ogb package says so of ogbn-products, ogbn-proteins, "
      "ogbg-mol* and ogbg-ppa")("task", with_default(given->task),
                                "what labels are: class, multilabel or regression; auto: as they look")(
      "label-column", with_default(given->label_column), "the only one taken, from 0 (-1: all)")(
      "split", po::value(&given->options.split)->value_name("NAME"),
      "the folder below split/, where there are several")(
      "node-tables", po::value(&given->node_tables)->value_name("NAME,..."),
      "additional node files, like node_year, taken as features");
  format.import = [given](const std::string& input) { return import_ogb(input, given->checked()); };
  return format;
}

}  // namespace adj::apps
