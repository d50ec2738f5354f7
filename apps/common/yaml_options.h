#pragma once

#include <string>
#include <vector>

namespace adj::apps {

/// An option in a YAML file, the value as its text stands there.
struct YamlOption {
  std::string name, value;
  int line;  ///< from 1
};

/// The options in a YAML mapping of names to single values, `hidden: 64`, in their order. Throws UsageError
/// for anything else, naming `path` and line.
std::vector<YamlOption> yaml_options(const std::string& text, const std::string& path);

}  // namespace adj::apps
