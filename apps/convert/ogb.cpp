#include "formats.h"
#include <adjoint/adjoint.h>
#include <adjoint/data/import/ogb.h>

#include <memory>
#include <sstream>

namespace adj::apps {

namespace {

struct Given {
  OgbOptions options;
  std::string node_tables;
  int64_t label_column = -1;
  std::shared_ptr<const SplitOptions> splits;

  /// Throws UsageError.
  OgbOptions checked() const {
    OgbOptions o = options;
    o.has_split = !splits->is_random();
    if (o.has_split) o.split = splits->split;
    if (label_column < -1) usage_fail("--label-column: expected 0 or more, or -1 for all");
    if (label_column >= 0) o.label_column = label_column;
    std::istringstream names(node_tables);
    for (std::string name; std::getline(names, name, ',');) o.node_tables.push_back(name);
    return o;
  }
};

}  // namespace

Format ogb_format(std::shared_ptr<const SplitOptions> splits) {
  const auto arguments = std::make_shared<Given>();
  arguments->splits = std::move(splits);
  Format format{"ogb",
                "a folder of the Open Graph Benchmark, with raw/ and split/, also of several types of nodes",
                {{"add-inverse-edges", &arguments->options.inverse_edges, "",
                  "add the reverse of each edge, as the ogb package does for ogbn-products, ogbn-proteins, "
                  "ogbg-mol* and ogbg-ppa; between nodes of two types as edges rev_NAME"},
                 {"task", &arguments->options.labels, "NAME",
                  "kind of labels: class, multilabel or regression; auto: by their values"},
                 {"label-column", &arguments->label_column, "N", "single label column, from 0 (-1: all)"},
                 {"node-tables", &arguments->node_tables, "NAME,...",
                  "additional node files as features, like node_year"}},
                [arguments](const std::string& input, auto& notes) -> std::variant<Dataset, TypedDataset> {
                  const OgbOptions options = arguments->checked();
                  if (is_typed_ogb(input)) return import_typed_ogb(input, options, notes);
                  return import_ogb(input, options);
                }};
  format.split_names = "a folder below split/, if there are several";
  return format;
}

}  // namespace adj::apps
