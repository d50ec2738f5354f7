#include "yaml_options.h"

#include <adjoint/core/error.h>
#include <adjoint/core/text.h>

#include <algorithm>

#include <yaml-cpp/yaml.h>

namespace adj::apps {

std::vector<YamlOption> yaml_options(const std::string& text, const std::string& path) {
  std::vector<YamlOption> options;
  try {
    const YAML::Node root = YAML::Load(text);
    if (root.IsNull()) return options;
    if (!root.IsMap()) usage_fail("{}: expected OPTION: VALUE in each line", excerpt(path));
    for (const auto& entry : root) {
      const int line = entry.first.Mark().line + 1;
      const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (name.empty() || !entry.second.IsScalar())
        usage_fail("{}:{}: expected OPTION: VALUE, one value, got {}", excerpt(path), line,
                   name.empty() ? "no name" : "another value of " + excerpt(name));
      const auto same = std::ranges::find(options, name, &YamlOption::name);
      if (same != options.end())
        usage_fail("{}:{}: '{}' is already set on line {}", excerpt(path), line, excerpt(name), same->line);
      options.push_back({name, entry.second.Scalar(), line});
    }
  } catch (const YAML::Exception& error) {
    usage_fail("{}:{}: not YAML: {}", excerpt(path), error.mark.line + 1, error.msg);
  }
  return options;
}

}  // namespace adj::apps
