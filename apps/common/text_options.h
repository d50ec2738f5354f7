#pragma once

#include <adjoint/core/option.h>
#include <adjoint/data/import/table_head.h>

#include <optional>
#include <string>

namespace adj::apps {

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
