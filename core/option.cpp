#include <adjoint/core/option.h>
#include <adjoint/core/text.h>

#include <iterator>

#include <fmt/format.h>

namespace adj {

std::string Option::text() const {
  return std::visit(
      [](const auto& variable) {
        if constexpr (std::is_pointer_v<std::decay_t<decltype(variable)>>)
          return fmt::format("{}", *variable);
        else
          return variable.text();
      },
      value);
}

std::string Option::json() const {
  const bool words = std::holds_alternative<std::string*>(value) || std::holds_alternative<Choice>(value);
  return words ? json_text(text()) : text();
}

void Option::check() const {
  if (const auto* integer = std::get_if<int64_t*>(&value)) expect_in(range, name, **integer);
  if (const auto* number = std::get_if<double*>(&value)) expect_in(range, name, **number);
}

OptionList& operator+=(OptionList& options, OptionList more) {
  options.insert(options.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return options;
}

}  // namespace adj
