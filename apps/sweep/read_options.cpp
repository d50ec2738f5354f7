#include "reading.h"
#include <adjoint/training/run_folder.h>

#include <algorithm>
#include <set>

namespace adj::apps {

namespace {

using training::Parameter;
using training::SearchMethod;
using File = adj::detail::YamlFile;

/// What a study sets itself, and what would make trials incomparable.
void check_name(const File& file, const YAML::Node& key, bool is_parameter, SearchMethod method) {
  const std::string& name = key.Scalar();
  const std::set<std::string> reserved{"threads", "device", "runs", "json",
                                       "quiet",   "check",  "help", "version"};
  if (training::names_run_file(name)) file.fail(key.Mark(), "{}: each trial has files of its own", name);
  if (reserved.contains(name))
    file.fail(key.Mark(), "{}: {}", name,
              name == "device"                      ? "expected as devices: [NAME] of the study"
              : name == "threads" || name == "runs" ? "expected as a key of the study"
                                                    : "a trial has none");
  if (!is_parameter) return;
  for (const char* fixed : {"data", "split", "metric", "seed"})
    if (name == fixed)
      file.fail(key.Mark(), "{}: trials that differ in it cannot be compared, expected it in options", name);
  if (name == "epochs" && method == SearchMethod::asha)
    file.fail(key.Mark(), "epochs: method asha chooses them, expected the most in options");
}

}  // namespace

std::string text_at(const File& file, const YAML::Node& node, const std::string& key) {
  if (!node.IsScalar() || node.Scalar().empty()) file.fail(node.Mark(), "{}: expected one value", key);
  return node.Scalar();
}

void read_options(const File& file, Study& study) {
  const YAML::Node options = file.root()["options"];
  if (!options || options.IsNull()) return;
  file.expect_map(options, "OPTION: VALUE");
  for (const auto& entry : options) {
    const std::string name = text_at(file, entry.first, "options");
    check_name(file, entry.first, false, study.search.method);
    study.options.emplace_back(name, text_at(file, entry.second, name));
    study.lines.emplace_back(name, entry.first.Mark().line + 1);
  }
}

void read_parameters(const File& file, Study& study) {
  const YAML::Node parameters = file.root()["parameters"];
  file.expect_map(parameters, "OPTION: [VALUES] or {int: [LOW, HIGH]} or {float: [LOW, HIGH]}");
  std::vector<Parameter>& space = study.search.space;
  double size = 1.0;
  for (const auto& entry : parameters) {
    const std::string name = text_at(file, entry.first, "parameters");
    check_name(file, entry.first, true, study.search.method);
    if (std::ranges::find(study.lines, name, [](const auto& line) { return line.first; }) !=
        study.lines.end())
      file.fail(entry.first.Mark(), "{}: already in options", name);
    study.lines.emplace_back(name, entry.first.Mark().line + 1);
    const Parameter& parameter = space.emplace_back(read_parameter(file.path(), name, entry.second, space));
    const bool grid = study.search.method == SearchMethod::grid,
               real = parameter.kind == Parameter::Kind::real;
    if (grid && real && parameter.points == 0)
      file.fail(entry.second.Mark(),
                "{}: a grid needs points, as {{float: [0.001, 0.1], log: true, points: 3}}", name);
    if (!grid && parameter.points != 0)
      file.fail(entry.second.Mark(), "{}: points: only method grid has them", name);
    if (!grid) continue;
    size *= parameter.kind == Parameter::Kind::choice ? static_cast<double>(parameter.choices.size())
            : real                                    ? static_cast<double>(parameter.points)
                   : (parameter.high - parameter.low) / parameter.step + 1.0;
    if (size > static_cast<double>(kMostTrials))
      file.fail(entry.first.Mark(), "{}: the grid has {} points, expected at most {}", name, size,
                kMostTrials);
  }
  if (space.empty()) file.fail(parameters.Mark(), "parameters: expected one or more");
}

}  // namespace adj::apps
