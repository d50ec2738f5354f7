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
      [](const auto* at) {
        if constexpr (std::is_same_v<decltype(at), const std::string*>) return json_text(*at);
        return fmt::format("{}", *at);
      },
      value);
}

OptionList& operator+=(OptionList& to, OptionList more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return to;
}

}  // namespace adj
