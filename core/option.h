#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace adj {

/// One option of a program: its name on command lines and in checkpoints, the variable that it sets, whose
/// value is the default, and what --help says of it.
struct Option {
  std::string name;  ///< "weight-decay"
  std::variant<int64_t*, double*, bool*, std::string*> value;
  std::string placeholder;  ///< of the value in --help: "N"; a bool has none
  std::string help;
  /// Does it change what is computed? Then a checkpoint of another value is refused, and reports name it.
  bool decides = true;

  /// The value as text: "0.5", "true".
  std::string text() const;
  /// As JSON: text in quotes.
  std::string json() const;
};

using OptionList = std::vector<Option>;

/// Appends one list to another.
OptionList& operator+=(OptionList& to, OptionList more);

}  // namespace adj
