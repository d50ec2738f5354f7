#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace adj {

/// Enables reports of kernel selection (`--explain` of the programs) and clears earlier ones. Off by default.
void set_explaining(bool enabled);
/// One atomic load; cheap enough for every kernel call.
bool explaining();

namespace detail {
void explain(std::string subject, std::string choice);
}

/// Records the choice for `subject` ("spmm of 2708 x 2708 with 13264 entries, width 16 float32, cuda:0") and
/// its reason. A later choice for the same subject replaces it. Thread-safe. No effect unless explaining();
/// check that before formatting a subject.
template <class... Args>
void explain(std::string subject, fmt::format_string<Args...> format, Args&&... args) {
  if (explaining()) detail::explain(std::move(subject), fmt::format(format, std::forward<Args>(args)...));
}

/// "SUBJECT: CHOICE", in the order of first appearance.
std::vector<std::string> explanations();

}  // namespace adj
