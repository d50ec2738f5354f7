#include "option.h"

#include "text.h"

#include <iterator>

#include <fmt/format.h>

namespace adj {

std::string Option::text() const {
  if (const auto* word = std::get_if<std::string*>(&value)) return **word;
  return json();
}

std::string Option::json() const {
  return std::visit(
      [](const auto* pointer) {
        if constexpr (std::is_same_v<decltype(pointer), const std::string*>) return json_text(*pointer);
        return fmt::format("{}", *pointer);
      },
      value);
}

OptionList& operator+=(OptionList& options, OptionList more) {
  options.insert(options.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return options;
}

}  // namespace adj
