#pragma once

#include "../common/shared_options.h"
#include <adjoint/data/typed_dataset.h>

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace adj::apps {

/// An input format of `convert`: its options and its reader.
struct Format {
  std::string name, summary;
  OptionList options;
  /// Gives several types only for formats that have them; what has one type is written as a graph. Adds its
  /// assumptions to `notes`, one line each, for the summary. Throws DataError for invalid input, UsageError
  /// for conflicting options.
  std::function<std::variant<Dataset, TypedDataset>(const std::string& input,
                                                    std::vector<std::string>& notes)>
      import;
  bool input_is_optional = false;
  /// Further input files named by its options, by option; call after reading the options.
  std::function<std::vector<std::pair<std::string, std::string>>()> files = [] {
    return std::vector<std::pair<std::string, std::string>>();
  };
  /// What --split may name instead of percentages, for its help; empty: nothing.
  std::string split_names = "";
  /// import() draws the random splits itself, as features or labels depend on them.
  bool draws_splits = false;
  /// Takes several inputs: import() gets the first, and finds the others here. Null: one.
  std::shared_ptr<std::vector<std::string>> further_inputs = nullptr;
  /// Types of edges keep their names: one type is not written as a graph.
  bool keeps_types = false;
};

/// One function per format, listed in convert.cpp. Each call creates new options; `splits` are those of the
/// command line, read before import().
Format edges_format(std::shared_ptr<const SplitOptions> splits);
Format graphland_format(std::shared_ptr<const SplitOptions> splits);
Format npz_format();
Format ogb_format(std::shared_ptr<const SplitOptions> splits);
Format rdf_format(std::shared_ptr<const SplitOptions> splits);
Format tables_format(std::shared_ptr<const SplitOptions> splits);
Format triples_format();
Format tu_format();
Format typed_format();

}  // namespace adj::apps
