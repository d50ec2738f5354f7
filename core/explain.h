#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace adj {

/// From here on, those who choose between kernels say what they chose (`--explain` of the programs). Off
/// until asked for; what was said before is forgotten.
void set_explaining(bool on);
/// One load of an atomic: a kernel may ask at every call.
bool explaining();

namespace detail {
void explain(std::string subject, std::string choice);
}

/// What was chosen for `subject` ("spmm of 2708 x 2708 with 13264 entries, width 16 float32, cuda:0"), and
/// why. A later choice for the same subject takes its place. Any thread may call it; without effect unless
/// explaining(), which who formats a subject asks first.
template <class... Args>
void explain(std::string subject, fmt::format_string<Args...> format, Args&&... args) {
  if (explaining()) detail::explain(std::move(subject), fmt::format(format, std::forward<Args>(args)...));
}

/// "SUBJECT: CHOICE", in the order in which the subjects first came up.
std::vector<std::string> explanations();

}  // namespace adj
