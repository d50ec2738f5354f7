#pragma once

#include <adjoint/adjoint.h>
#include <adjoint/data/import/table_head.h>

#include <optional>
#include <string>

namespace adj::apps {

/// The options of random splits: --split, --splits, --seed and --stratified.
struct SplitOptions {
  std::string split;
  int64_t splits = 1, seed = 0;
  bool stratified = false;

  /// `names`: what --split may be instead, for its help; empty: nothing.
  OptionList list(const std::string& names = "");
  /// Percentages, not a name.
  bool is_random() const { return split.find(',') != std::string::npos; }
  /// Of --split. Throws UsageError.
  SplitFractions fractions() const;
  /// Empty without --split, or if it is one of the `names`. Throws UsageError.
  std::optional<RandomSplits> random(bool names = false) const;
};

/// How tables are written: --comment, --encoding, --separator and --decimal.
struct TextOptions {
  std::string encoding, separator, decimal;
  std::optional<std::string> comment;

  /// `files`: which tables, for the help: "of all files".
  OptionList list(const std::string& files);
  /// Whether one of them was chosen.
  bool any() const;
  /// Throws UsageError.
  TextFormat format() const;
};

}  // namespace adj::apps
