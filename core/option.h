#pragma once

#include <adjoint/core/choice.h>
#include <adjoint/core/option_check.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace adj {

/// One option of a program: its name on command lines and in checkpoints, the bound variable, whose initial
/// value is the default, and its --help text.
struct Option {
  std::string name;  ///< "weight-decay"
  /// A list is of an option that may be repeated; an optional text is absent if the option is not given.
  std::variant<int64_t*, double*, bool*, std::string*, std::optional<std::string>*, std::vector<std::string>*,
               Choice>
      value;
  std::string placeholder;  ///< of the value in --help: "N"; empty for a bool
  std::string help;
  /// Whether the option affects results. If so, checkpoints with another value are refused, and reports list
  /// it.
  bool decides = true;
  OptionRange range = {};  ///< of a number

  /// The value as text: "0.5", "true".
  std::string text() const;
  /// As JSON; text and names in quotes.
  std::string json() const;
  /// Throws UsageError for a number out of range.
  void check() const;
};

using OptionList = std::vector<Option>;  ///< in the order of `--help`

OptionList& operator+=(OptionList& options, OptionList more);  ///< appends `more`

}  // namespace adj
