#include "reading.h"
#include <adjoint/core/option_check.h>

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

namespace adj::apps {

namespace {

using training::Parameter;
using Kind = Parameter::Kind;

/// Reads a parameter, with errors "FILE:LINE: NAME: message".
class Reader {
 public:
  Reader(const std::string& path, const std::string& name, const std::vector<Parameter>& space)
      : path_(path), space_(space) {
    parameter_.name = name;
  }

  Parameter read(const YAML::Node& node) {
    if (node.IsSequence()) return read_choices(node), parameter_;
    if (!node.IsMap()) fail(node, "expected a list, or a kind with its values as {{float: [0.001, 0.1]}}");
    const std::vector<std::string> keys{"choice", "int", "float", "log", "step", "points", "when"};
    std::vector<std::string> kinds;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (std::ranges::find(keys, key) == keys.end())
        fail(entry.first, "{}: expected {}{}", key, fmt::join(keys, ", "), did_you_mean(key, keys));
      if (key == "choice" || key == "int" || key == "float") kinds.push_back(key);
    }
    if (kinds.size() != 1)
      fail(node, "expected one of choice, int and float, got {}",
           kinds.empty() ? "none" : fmt::format("{}", fmt::join(kinds, ", ")));
    kinds[0] == "choice" ? read_choices(node["choice"]) : read_range(node, kinds[0]);
    if (node["log"]) read_log(node["log"]);
    if (node["step"]) read_step(node["step"]);
    if (node["points"]) read_points(node["points"]);
    if (node["when"]) read_conditions(node["when"]);
    return parameter_;
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(const YAML::Node& node, fmt::format_string<Args...> format, Args&&... args) const {
    data_fail("{}:{}: {}: {}", excerpt(path_), node.Mark().line + 1, excerpt(parameter_.name),
              excerpt(fmt::format(format, std::forward<Args>(args)...)));
  }

  void read_choices(const YAML::Node& node) {
    if (!node.IsSequence() || node.size() == 0) fail(node, "expected a list of values, [a, b]");
    for (const YAML::Node& one : node) {
      if (!one.IsScalar()) fail(one, "expected single values in the list");
      if (std::ranges::find(parameter_.choices, one.Scalar()) != parameter_.choices.end())
        fail(one, "{} is twice in the list", one.Scalar());
      parameter_.choices.push_back(one.Scalar());
    }
  }

  double number(const YAML::Node& node, bool whole, const char* expected) const {
    const auto value = node.IsScalar() ? number_in<double>(node.Scalar()) : std::nullopt;
    if (!value || !std::isfinite(*value) ||
        (whole && (*value != std::floor(*value) || std::abs(*value) > 0x1p53)))
      fail(node, "expected {}, got {}", expected, node.IsScalar() ? node.Scalar() : "no single value");
    return *value;
  }

  void read_range(const YAML::Node& node, const std::string& kind) {
    const YAML::Node range = node[kind];
    parameter_.kind = kind == "int" ? Kind::integer : Kind::real;
    const bool whole = kind == "int";
    if (!range.IsSequence() || range.size() != 2) fail(range, "expected {}: [LOW, HIGH]", kind);
    parameter_.low = number(range[0], whole, whole ? "an integer" : "a number");
    parameter_.high = number(range[1], whole, whole ? "an integer" : "a number");
    if (!(parameter_.low < parameter_.high))
      fail(range, "expected the lower end first, got {} and {}", range[0].Scalar(), range[1].Scalar());
  }

  void read_log(const YAML::Node& node) {
    if (!node.IsScalar() || !YAML::convert<bool>::decode(node, parameter_.log))
      fail(node, "log: expected true or false");
    if (parameter_.kind == Kind::choice) fail(node, "log: requires int or float");
    if (parameter_.log && !(parameter_.low > 0.0))
      fail(node, "log: requires a range above 0, got {}", parameter_.low);
  }

  void read_step(const YAML::Node& node) {
    if (parameter_.kind != Kind::integer) fail(node, "step: requires int");
    if (parameter_.log) fail(node, "step: conflicts with log");
    parameter_.step = number(node, true, "an integer");
    if (parameter_.step < 1.0 || std::fmod(parameter_.high - parameter_.low, parameter_.step) != 0.0)
      fail(node, "step: expected a divisor of {}, got {}", parameter_.high - parameter_.low, node.Scalar());
  }

  void read_points(const YAML::Node& node) {
    if (parameter_.kind != Kind::real) fail(node, "points: requires float");
    parameter_.points = static_cast<int64_t>(number(node, true, "an integer"));
    if (parameter_.points < 2 || parameter_.points > 100'000)
      fail(node, "points: expected 2 to 100000, got {}", node.Scalar());
  }

  void read_conditions(const YAML::Node& node) {
    if (!node.IsMap() || node.size() == 0)
      fail(node, "when: expected {{PARAMETER: CHOICE}} or a list of choices");
    for (const auto& entry : node) {
      const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
      std::vector<std::string> names;
      for (const Parameter& one : space_)
        if (one.kind == Kind::choice) names.push_back(one.name);
      const auto found = std::ranges::find(space_, name, &Parameter::name);
      if (found == space_.end() || found->kind != Kind::choice)
        fail(entry.first, "when: {}: expected an earlier parameter with choices ({}){}", name,
             names.empty() ? "there is none" : fmt::format("{}", fmt::join(names, ", ")),
             did_you_mean(name, names));
      Parameter::Condition condition{static_cast<size_t>(found - space_.begin()), {}};
      const auto add = [&](const YAML::Node& choice) {
        const std::string text = choice.IsScalar() ? choice.Scalar() : "";
        const auto place = std::ranges::find(found->choices, text);
        if (place == found->choices.end())
          fail(choice, "when: {}: {}: expected one of {}{}", name, text, fmt::join(found->choices, ", "),
               did_you_mean(text, found->choices));
        condition.choices.push_back(static_cast<size_t>(place - found->choices.begin()));
      };
      if (entry.second.IsSequence())
        for (const YAML::Node& choice : entry.second) add(choice);
      else
        add(entry.second);
      if (condition.choices.empty()) fail(entry.second, "when: {}: expected a choice, got none", name);
      parameter_.when.push_back(std::move(condition));
    }
  }

  const std::string& path_;
  const std::vector<Parameter>& space_;
  Parameter parameter_;
};

}  // namespace

training::Parameter read_parameter(const std::string& path, const std::string& name, const YAML::Node& node,
                                   const std::vector<training::Parameter>& space) {
  return Reader(path, name, space).read(node);
}

}  // namespace adj::apps
