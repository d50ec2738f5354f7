#include "formats.h"
#include <adjoint/data/import/rdf.h>

namespace adj::apps {

namespace {

struct RdfArguments {
  RdfOptions options;
  int64_t val_share = 20;
  std::shared_ptr<const SplitOptions> splits;

  /// Throws UsageError.
  RdfOptions checked() const {
    RdfOptions o = options;
    RdfLabels& labels = o.labels;
    labels.random = !splits->split.empty();
    for (const auto& [name, chosen] : {std::pair("val", !labels.val.empty()),
                                       {"test", !labels.test.empty()},
                                       {"node-column", !labels.node_column.empty()},
                                       {"label-column", !labels.label_column.empty()},
                                       {"unknown-nodes drop", labels.unknown != UnknownNodes::error},
                                       {"split", labels.random}})
      if (chosen && labels.train.empty()) usage_fail("--{}: requires --labels", name);
    if (!labels.val.empty() && labels.test.empty()) usage_fail("--val: requires --test");
    if (labels.random && !labels.test.empty()) usage_fail("--split: conflicts with --test, which has a part");
    if (labels.random) {
      labels.draws = *splits->random();
    } else if (!labels.test.empty() && labels.val.empty()) {
      labels.draws.seed = static_cast<uint64_t>(splits->seed);
      labels.draws.count = splits->splits;
      labels.draws.stratified = splits->stratified;
    } else {
      (void)splits->random();  // throws for --seed and others without a split to draw
    }
    labels.val_share = static_cast<double>(val_share) / 100.0;
    return o;
  }
};

}  // namespace

Format rdf_format(std::shared_ptr<const SplitOptions> splits) {
  const auto arguments = std::make_shared<RdfArguments>();
  arguments->splits = std::move(splits);
  RdfOptions& o = arguments->options;
  RdfLabels& labels = o.labels;
  Format format{
      "rdf",
      "RDF as N-Triples (.nt) or Turtle (.ttl), plain or gzip (.gz): a type of edges for each predicate",
      {{"literals", &o.literals, "NAME", "nodes: a node of each literal; drop: no triples with literals"},
       {"inverse", &o.inverse, "", "also edges from object to subject, as types called PREDICATE^-1"},
       {"drop-predicate", &o.drop_predicates, "IRI",
        "leave out its triples, as those that say labels; any number of times"},
       {"base", &o.base, "IRI", "what relative IRIs of Turtle refer to, unless a file says it"},
       {"labels", &labels.train, "FILE",
        "table of nodes and their classes, with a header; with --test those to train"},
       {"test", &labels.test, "FILE", "the same of the nodes to test"},
       {"val", &labels.val, "FILE", "the same of those to validate (default: a share of those of --labels)"},
       {"val-share", &arguments->val_share, "PERCENT",
        "without --val: that share, drawn by --seed, --splits and --stratified", true, IntegerRange{1, 99}},
       {"node-column", &labels.node_column, "COLUMN",
        "column of nodes: its name in the header, or its number from 1 (default: the only one with names of "
        "nodes)"},
       {"label-column", &labels.label_column, "COLUMN",
        "column of classes (default: the only one whose name begins with label)"},
       {"unknown-nodes", &labels.unknown, "NAME",
        "rows of nodes that the graph does not have: error, or drop"}},
      {}};
  format.further_inputs = std::make_shared<std::vector<std::string>>();
  format.keeps_types = true;
  format.draws_splits = true;
  format.import = [arguments, more = format.further_inputs](const std::string& input, auto& notes) {
    std::vector<std::string> files{input};
    files.insert(files.end(), more->begin(), more->end());
    return import_rdf(files, arguments->checked(), notes);
  };
  format.files = [arguments] {
    const RdfLabels& tables = arguments->options.labels;
    std::vector<std::pair<std::string, std::string>> files;
    for (const auto& [option, path] :
         {std::pair("labels", &tables.train), {"val", &tables.val}, {"test", &tables.test}})
      if (!path->empty()) files.emplace_back(option, *path);
    return files;
  };
  return format;
}

}  // namespace adj::apps
