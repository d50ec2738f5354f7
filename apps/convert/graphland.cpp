#include "formats.h"
#include <adjoint/adjoint.h>
#include <adjoint/data/import/graphland.h>

#include <memory>

#include <fmt/format.h>

namespace adj::apps {

namespace {

struct Given {
  GraphLandOptions options;
  std::string fraction = "default", categorical = "one-hot";
  bool directed = false;
  std::shared_ptr<const SplitOptions> splits;

  /// Throws UsageError.
  GraphLandOptions checked() const {
    GraphLandOptions o = options;
    o.random = splits->random(true);
    if (!o.random && !splits->split.empty()) Choice(&o.split).set("split", splits->split);
    if (fraction != "default") Choice(&o.fraction.emplace()).set("fraction", fraction);
    expect_one_of("categorical", categorical, {"one-hot", "as-is"});
    o.one_hot = categorical == "one-hot";
    o.undirected = !directed;
    return o;
  }
};

}  // namespace

Format graphland_format(std::shared_ptr<const SplitOptions> splits) {
  const auto arguments = std::make_shared<Given>();
  arguments->splits = std::move(splits);
  GraphLandOptions& o = arguments->options;
  const std::vector offered{Imputation::most_frequent, Imputation::mean, Imputation::median};
  Format format{
      "graphland",
      "a GraphLand folder: info.yaml, features.csv, targets.csv, split_masks_*.csv, edgelist.csv",
      {{"numerical", &o.numerical, "N",
        "transform of numerical features: none, standard, min-max, quantile-normal or quantile-uniform"},
       {"fraction", &arguments->fraction, "N",
        "transform of features that are shares (default: none; artnet-views, avazu-ctr: quantile-normal)"},
       {"categorical", &arguments->categorical, "N", "one-hot or as-is"},
       {"target", &o.target, "N",
        "transform of regression targets, as --numerical, fitted to the training nodes"},
       {"numerical-imputation", Choice(&o.numerical_imputation, offered), "N",
        "replace missing numbers: most-frequent, mean or median"},
       {"fraction-imputation", Choice(&o.fraction_imputation, offered), "N", "the same, for shares"},
       {"directed", &arguments->directed, "", "keep edges directed"}},
      [arguments](const std::string& input, auto& notes) {
        const GraphLandOptions options = arguments->checked();
        Dataset data = import_graphland(input, options);
        if (options.random) notes.push_back(options.random->note(data.splits, "nodes"));
        return data;
      }};
  format.split_names = "RL, RH, TH, or THI (three growing graphs, one per part) (default: RL)";
  format.draws_splits = true;
  return format;
}

}  // namespace adj::apps
