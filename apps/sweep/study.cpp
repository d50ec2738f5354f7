#include "study.h"

#include <adjoint/core/error.h>
#include <adjoint/core/option_check.h>
#include <adjoint/core/text.h>

#include <algorithm>
#include <filesystem>

#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

namespace adj::apps {

namespace fs = std::filesystem;
using training::Assignment;
using training::Parameter;

std::string path_of_program(const std::string& name) {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  if (fs::path(name).filename() == name && fs::exists(folder / name)) return (folder / name).string();
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (const std::string one = entry.path().filename().string(); one.starts_with("train_"))
      names.push_back(one);
  fail("{}: no such program in {}{}", excerpt(name), folder.string(), did_you_mean(name, names));
}

std::vector<std::pair<std::string, std::string>> Study::options_of(const Assignment& values,
                                                                   size_t rung) const {
  auto all = options;
  for (size_t k = 0; k < values.size(); ++k)
    if (values[k]) all.emplace_back(search.space[k].name, search.space[k].text(*values[k]));
  if (!rung_epochs.empty())
    for (auto& [name, value] : all)
      if (name == "epochs") value = fmt::format("{}", rung_epochs[rung]);
  return all;
}

std::string Study::config(const Assignment& values, size_t rung) const {
  YAML::Emitter yaml;
  yaml << YAML::BeginMap;
  for (const auto& [name, value] : options_of(values, rung))
    yaml << YAML::Key << name << YAML::Value << value;
  yaml << YAML::EndMap;
  return std::string(yaml.c_str()) + "\n";
}

std::vector<std::pair<std::string, std::string>> Study::identity() const {
  std::vector<std::pair<std::string, std::string>> all{
      {"program", program},
      {"method", std::string(name_of(search.method))},
      {"objective", objective},
      {"seed", fmt::format("{}", search.seed)},
      {"devices", devices.empty() ? "cpu" : devices[0].substr(0, devices[0].find(':'))}};
  using enum training::SearchMethod;
  if (search.method == tpe) all.emplace_back("startup", fmt::format("{}", search.startup));
  if (search.method == tpe || search.method == asha)
    all.emplace_back("generation", fmt::format("{}", search.generation));
  if (search.method == asha) {
    all.emplace_back("reduction", fmt::format("{}", search.reduction));
    all.emplace_back("min-epochs", fmt::format("{}", rung_epochs[0]));
  }
  for (const auto& [name, value] : options) all.emplace_back(name, value);
  for (const Parameter& p : search.space) {
    std::string text =
        p.kind == Parameter::Kind::choice
            ? fmt::format("{}", p.choices)
            : fmt::format("{} [{}, {}]{}{}{}", p.kind == Parameter::Kind::real ? "float" : "int", p.low,
                          p.high, p.log ? " log" : "", p.step == 1.0 ? "" : fmt::format(" step {}", p.step),
                          p.points == 0 ? "" : fmt::format(" points {}", p.points));
    for (const auto& condition : p.when)
      text += fmt::format(" when {} {}", search.space[condition.parameter].name, condition.choices);
    all.emplace_back(p.name, text);
  }
  return all;
}

size_t Study::trainings() const {
  size_t all = 0, left = search.trials;
  for (size_t rung = 0; rung < search.rungs; ++rung, left /= search.reduction) all += left;
  return all;
}

size_t Study::slots() const {
  return jobs > 0 ? static_cast<size_t>(jobs) : std::max<size_t>(devices.size(), 1);
}

}  // namespace adj::apps
