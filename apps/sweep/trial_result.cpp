#include "trial_result.h"

#include "../common/run_table.h"
#include <adjoint/core/error.h>
#include <adjoint/core/option_check.h>
#include <adjoint/core/text.h>
#include <adjoint/training/run_folder.h>

#include <cmath>

#include <fmt/ranges.h>

namespace adj::apps {

using Json = nlohmann::ordered_json;

Json json_of(const TrialResult& r) {
  if (r.failed()) return {{"message", r.message}, {"epochs", r.epochs}, {"same_as", r.same_as}};
  const auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  return {{"value", r.value},       {"deviation", number(r.deviation)},
          {"test", number(r.test)}, {"test_deviation", number(r.test_deviation)},
          {"metric", r.metric},     {"validated", r.validated},
          {"epochs", r.epochs},     {"same_as", r.same_as}};
}

TrialResult result_of(const Json& json) {
  const auto number = [&](const char* name) {
    return json.at(name).is_null() ? std::nullopt : std::optional(json.at(name).get<double>());
  };
  TrialResult r{.message = json.value("message", "")};
  r.epochs = json.at("epochs");
  r.same_as = json.at("same_as");
  if (r.failed()) return r;
  r.value = json.at("value");
  r.deviation = number("deviation");
  r.test = number("test");
  r.test_deviation = number("test_deviation");
  r.metric = json.at("metric");
  r.validated = json.at("validated");
  return r;
}

bool is_higher_better(const TrialResult& result, const std::string& objective) {
  const std::string metric = objective == "val_acc" ? result.metric : objective.substr(4);
  const std::optional<bool> higher = metric == "loss" ? false : direction_of(metric);
  if (!higher)
    data_fail("objective {}: it is not known whether higher values of {} are better", excerpt(objective),
              excerpt(metric));
  return *higher;
}

double score_of(const TrialResult& result, const std::string& objective) {
  if (result.failed()) return training::kFailed;
  return is_higher_better(result, objective) ? -result.value : result.value;
}

TrialResult read_result(const Study& study, const std::string& folder, size_t rung) {
  TrialResult r{.epochs = study.rung_epochs.empty() ? 0 : study.rung_epochs[rung]};
  const training::RunSummary run = training::read_run(folder);
  const auto member = [&](const std::string& name) { return number_in<double>(run.result_named(name)); };
  const std::string name = study.objective.substr(4);
  const auto value = member(study.objective);
  if (!value && run.result_named(study.objective).empty()) {
    std::vector<std::string> names;
    for (const auto& [key, text] : run.results)
      if (key.starts_with("val_") && !key.ends_with("_std")) names.push_back(key);
    data_fail("{}: objective {}: {} has no such result, expected {}{}", study.path, excerpt(study.objective),
              study.program, fmt::join(names, ", "), did_you_mean(study.objective, names));
  }
  if (!value || !std::isfinite(*value)) {
    r.message = fmt::format("{} is not a finite number", study.objective);
    return r;
  }
  r.value = *value;
  // Of one run it says nothing.
  if (number_in<int64_t>(run.result_named("runs")).value_or(1) > 1) {
    r.deviation = member(study.objective + "_std");
    r.test_deviation = member("test_" + name + "_std");
  }
  r.test = member("test_" + name);
  r.metric = run.result_named("metric");
  r.validated = fmt::format("{} {} {}", run.data, run.validation, r.metric);
  return r;
}

}  // namespace adj::apps
