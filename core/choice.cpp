#include <adjoint/core/choice.h>
#include <adjoint/core/option_check.h>

#include <algorithm>

namespace adj {

bool Choice::offers(const std::string& name) const {
  return std::any_of(offered_.begin(), offered_.end(), [&](const auto& one) { return one.second == name; });
}

void Choice::set(const std::string& option, const std::string& text) const {
  std::vector<std::string> names;
  for (const auto& [value, name] : offered_) {
    if (name == text) return set_(variable_, value);
    names.push_back(name);
  }
  expect_one_of(option, text, names);  // throws
}

}  // namespace adj
