#include "../common/run_table.h"
#include "study_run.h"
#include <adjoint/core/error.h>
#include <adjoint/core/file.h>
#include <adjoint/core/text.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

#include <fmt/ranges.h>

namespace adj::apps {

namespace {

using training::Parameter;
constexpr size_t kShown = 10, kFewest = 10, kBins = 4;

/// "0.8160", of several runs "0.8160 ± 0.0040".
std::string with_deviation(std::optional<double> value, std::optional<double> deviation) {
  if (!value) return "";
  return fmt::format("{:.4f}{}", *value, deviation ? fmt::format(" ± {:.4f}", *deviation) : "");
}

/// Groups of finished trials by a parameter: its choice, or the quarter of its values; those where it is not
/// active are one of their own.
std::vector<size_t> groups_by(const Parameter& parameter, const std::vector<std::optional<double>>& values) {
  std::vector<double> sorted;
  for (const auto& value : values)
    if (value) sorted.push_back(*value);
  std::ranges::sort(sorted);
  std::vector<size_t> groups;
  for (const auto& value : values) {
    const auto below =
        value ? static_cast<size_t>(std::ranges::lower_bound(sorted, *value) - sorted.begin()) : 0;
    groups.push_back(!value                                      ? 0
                     : parameter.kind == Parameter::Kind::choice ? 1 + static_cast<size_t>(*value)
                                                                 : 1 + below * kBins / sorted.size());
  }
  return groups;
}

/// Share of the scores' variance between groups, less what chance would give (ε², Kelley 1935); 0 at least.
double explained(const std::vector<size_t>& groups, const std::vector<double>& scores) {
  struct Sums {
    double count = 0.0, sum = 0.0;
  };
  std::map<size_t, Sums> sums;
  const auto n = static_cast<double>(scores.size());
  const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) / n;
  double total = 0.0, between = 0.0;
  for (size_t k = 0; k < scores.size(); ++k) {
    sums[groups[k]].count += 1.0;
    sums[groups[k]].sum += scores[k] - mean;
    total += (scores[k] - mean) * (scores[k] - mean);
  }
  for (const auto& [group, one] : sums) between += one.sum * one.sum / one.count;
  const double free = static_cast<double>(sums.size()) - 1.0, rest = n - free - 1.0;
  if (!(total > 0.0) || rest <= 0.0) return 0.0;
  return std::max(0.0, (between - free * (total - between) / rest) / total);
}

/// Prints it for each parameter, the most important first, of enough trials that are spread evenly.
void print_importance(const Study& study, const StudyRun& run, const std::vector<size_t>& ranked) {
  const size_t count = study.search.space.size();
  const bool even = study.search.method == training::SearchMethod::grid ||
                    study.search.method == training::SearchMethod::random;
  if (!even || ranked.size() < kFewest || count < 2) return;
  std::vector<std::pair<double, std::string>> shares;
  for (size_t k = 0; k < count; ++k) {
    std::vector<std::optional<double>> values;
    std::vector<double> scores;
    for (const size_t trial : ranked) {
      values.push_back(run.trials()[trial].values[k]);
      scores.push_back(run.last(trial).value);
    }
    shares.emplace_back(-explained(groups_by(study.search.space[k], values), scores),
                        study.search.space[k].name);
  }
  std::ranges::stable_sort(shares, {}, [](const auto& one) { return one.first; });
  std::vector<std::string> texts;
  for (const auto& [share, name] : shares)
    texts.push_back(fmt::format("{} {:.0f}%", name, std::abs(share) * 100.0));
  fmt::print("variance of {} that each explains alone: {}\n", study.objective, fmt::join(texts, ", "));
}

void print_trials(const Study& study, const StudyRun& run, const std::vector<size_t>& ranked) {
  const size_t shown = std::min(ranked.size(), kShown);
  std::vector<std::string> rows{"  trial"};
  const std::string test = "test_" + study.objective.substr(4);
  Column value{study.objective, {}}, tested{test, {}}, epochs{"epochs", {}};
  for (size_t k = 0; k < shown; ++k) {
    const TrialResult& result = run.last(ranked[k]);
    rows.push_back(fmt::format("{} {}", k == 0 ? "*" : " ", ranked[k]));
    value.cells.push_back(with_deviation(result.value, result.deviation));
    tested.cells.push_back(with_deviation(result.test, result.test_deviation));
    epochs.cells.push_back(fmt::format("{}", result.epochs));
  }
  std::vector<Column> columns{value, tested};
  if (!study.rung_epochs.empty()) columns.push_back(epochs);
  for (size_t p = 0; p < study.search.space.size(); ++p) {
    const Parameter& parameter = study.search.space[p];
    Column column{parameter.name, {}};
    for (size_t k = 0; k < shown; ++k) {
      const auto& chosen = run.trials()[ranked[k]].values[p];
      const std::string text = chosen ? parameter.text(*chosen) : "";
      column.cells.push_back(excerpt(parameter.kind == Parameter::Kind::real ? short_number(text) : text));
    }
    columns.push_back(std::move(column));
  }
  print_table(rows, columns);
  if (shown < ranked.size())
    fmt::print("  … and {} more; compare {} shows all\n", ranked.size() - shown, printable(study.folder));
}

}  // namespace

void report(const Study& study, const StudyRun& run) {
  std::vector<size_t> ranked, failed;
  for (size_t k = 0; k < run.trials().size(); ++k) (run.last(k).failed() ? failed : ranked).push_back(k);
  if (ranked.empty())
    data_fail("{}: all {} trials failed, trial 0: {}", study.folder, failed.size(), run.last(0).message);
  std::ranges::stable_sort(ranked, {}, [&](size_t k) { return score_of(run.last(k), study.objective); });
  const size_t best = ranked[0];
  const TrialResult& result = run.last(best);
  const std::string path = (std::filesystem::path(study.folder) / "best.yaml").string();
  const std::string device = study.devices.empty() ? "" : fmt::format("device: {}\n", study.devices[0]);
  replace_file(path, fmt::format("# {} --config {}: trial {} of {}, {} {}\n{}{}", study.program,
                                 printable(path), best, printable(study.path), study.objective, result.value,
                                 study.config(run.trials()[best].values, run.last_rung(best)), device));
  print_trials(study, run, ranked);
  const bool higher = is_higher_better(result, study.objective);
  fmt::print("{} ({}) of {} trials: {} is better, * the best; the test is for no choice\n", study.objective,
             result.metric, run.trials().size(), higher ? "higher" : "lower");
  print_importance(study, run, ranked);
  if (!failed.empty())
    fmt::print("{} of {} trials failed, trial {}: {}\n", failed.size(), run.trials().size(), failed[0],
               run.last(failed[0]).message);
  fmt::print("the best again: {} --config {}\n", study.program, printable(path));
}

}  // namespace adj::apps
