#include "formats.h"

#include "../common/command_line.h"
#include <adjoint/core/error.h>
#include <adjoint/core/option_check.h>

#include <fmt/ranges.h>

namespace adj::apps {

namespace {

struct Entry {
  const char* name;
  Format (*make)();
};

/// A new format takes a line here, its function's declaration, and the function in convert/NAME.cpp.
constexpr Entry kFormats[] = {{"edges", edges_format},
                              {"graphland", graphland_format},
                              {"npz", npz_format},
                              {"ogb", ogb_format},
                              {"tu", tu_format}};

}  // namespace

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kFormats) names.emplace_back(entry.name);
  return names;
}

Format format_named(const std::string& name) {
  for (const Entry& entry : kFormats)
    if (name == entry.name) return entry.make();
  usage_fail("FORMAT '{}': expected one of {}{}", name, fmt::join(format_names(), ", "),
             did_you_mean(name, format_names()));
}

}  // namespace adj::apps
