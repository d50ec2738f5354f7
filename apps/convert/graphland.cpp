#include "../common/command_line.h"
#include "formats.h"
#include <adjoint/adjoint.h>
#include <adjoint/data/import/graphland.h>

#include <memory>

#include <fmt/format.h>

namespace adj::apps {

namespace {

struct Given {
  std::string numerical = "quantile-normal", fraction = "default", categorical = "one-hot",
              target = "standard", numerical_imputation = "most-frequent",
              fraction_imputation = "most-frequent";
  bool directed = false;
  std::shared_ptr<const SplitOptions> splits;
  std::vector<std::string> notes;

  /// Throws UsageError.
  GraphLandOptions checked() const {
    GraphLandOptions o;
    using enum GraphLandOptions::Split;
    o.random = splits->random(true);
    if (!o.random && !splits->split.empty()) o.split = one_of("split", splits->split, {RL, RH, TH, THI});
    o.numerical = transform("numerical", numerical);
    if (fraction != "default") o.fraction = transform("fraction", fraction);
    if (categorical != "one-hot" && categorical != "as-is")
      usage_fail("--categorical {}: expected one-hot or as-is", categorical);
    o.one_hot = categorical == "one-hot";
    o.target = transform("target", target);
    o.numerical_imputation = imputation("numerical-imputation", numerical_imputation);
    o.fraction_imputation = imputation("fraction-imputation", fraction_imputation);
    o.undirected = !directed;
    return o;
  }

 private:
  template <class T>
  static T one_of(const char* option, const std::string& text, std::initializer_list<T> known) {
    std::vector<std::string_view> names;
    for (T value : known) {
      if (text == name_of(value)) return value;
      names.push_back(name_of(value));
    }
    usage_fail("--{} {}: expected one of {}", option, text, fmt::join(names, ", "));
  }
  static ColumnTransform transform(const char* option, const std::string& text) {
    using enum ColumnTransform;
    return one_of(option, text, {none, standard, min_max, quantile_normal, quantile_uniform});
  }
  static Imputation imputation(const char* option, const std::string& text) {
    using enum Imputation;
    return one_of(option, text, {most_frequent, mean, median});
  }
};

}  // namespace

Format graphland_format(std::shared_ptr<const SplitOptions> splits) {
  const auto arguments = std::make_shared<Given>();
  arguments->splits = std::move(splits);
  Format format{
      "graphland",
      "a GraphLand folder: info.yaml, features.csv, targets.csv, split_masks_*.csv, edgelist.csv",
      table_of(
          {{"numerical", &arguments->numerical, "N",
            "transform of numerical features: none, standard, min-max, quantile-normal or quantile-uniform"},
           {"fraction", &arguments->fraction, "N",
            "transform of features that are shares (default: none; artnet-views, avazu-ctr: "
            "quantile-normal)"},
           {"categorical", &arguments->categorical, "N", "one-hot or as-is"},
           {"target", &arguments->target, "N",
            "transform of regression targets, as --numerical, fitted to the training nodes"},
           {"numerical-imputation", &arguments->numerical_imputation, "N",
            "replace missing numbers: most-frequent, mean or median"},
           {"fraction-imputation", &arguments->fraction_imputation, "N", "the same, for shares"},
           {"directed", &arguments->directed, "", "keep edges directed"}},
          "Options of graphland"),
      [arguments](const std::string& input) {
        const GraphLandOptions options = arguments->checked();
        Dataset data = import_graphland(input, options);
        if (options.random) arguments->notes = {options.random->note(data.splits, "nodes")};
        return data;
      }};
  format.split_names = "RL, RH, TH, or THI (three growing graphs, one per part) (default: RL)";
  format.draws_splits = true;
  format.notes = [arguments] { return arguments->notes; };
  return format;
}

}  // namespace adj::apps
