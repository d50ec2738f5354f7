#include "ranking.h"

#include <adjoint/core/text.h>
#include <adjoint/training.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/ranges.h>

namespace adj::apps {

namespace {

/// "a" for "runs/a/".
std::string name_of_folder(const std::string& folder) {
  const auto path = std::filesystem::path(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

std::string path_of(const training::RunSummary& run) {
  const auto path = run.options.find("data");
  return path == run.options.end() ? "" : path->second;
}

/// Whether higher values are better; absent for an unknown metric.
std::optional<bool> direction_of(const std::string& metric) {
  for (const training::Metric& one : training::link_metrics(metric))
    if (one.option == metric) return one.higher_is_better;
  return training::higher_is_better(metric);
}

}  // namespace

std::vector<Entry> read_entries(const std::vector<std::string>& folders) {
  std::vector<Entry> entries;
  for (const std::string& folder : folders) {
    const std::string name = name_of_folder(folder);
    const bool shared = std::any_of(folders.begin(), folders.end(), [&](const std::string& other) {
      return other != folder && name_of_folder(other) == name;
    });
    Entry entry{shared ? folder : name, training::read_run(folder)};
    const training::RunSummary& run = entry.run;
    entry.group = {run.result_named("metric"), run.result_named("dataset"),
                   run.data.empty() ? path_of(run) : run.data};
    const auto value = number_in<double>(run.result_named("val_acc"));
    if (run.finished && value && std::isfinite(*value)) entry.value = value;
    entries.push_back(std::move(entry));
  }
  return entries;
}

void rank(std::vector<Entry>& entries) {
  std::vector<std::array<std::string, 3>> groups;
  for (const Entry& entry : entries)
    if (entry.value && std::find(groups.begin(), groups.end(), entry.group) == groups.end())
      groups.push_back(entry.group);
  const auto key = [&](const Entry& e) {
    const auto group = e.value ? std::find(groups.begin(), groups.end(), e.group) : groups.end();
    const auto higher = direction_of(e.group[0]);
    return std::pair(group - groups.begin(), !e.value || !higher ? 0.0 : *higher ? -*e.value : *e.value);
  };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const Entry& a, const Entry& b) { return key(a) < key(b); });
  const Entry* first = nullptr;  // of the group
  for (Entry& entry : entries) {
    if (first == nullptr || entry.group != first->group) first = &entry;
    entry.best = entry.value && direction_of(entry.group[0]) && entry.value == first->value;
  }
}

void explain_ranks(const std::vector<Entry>& entries) {
  for (size_t k = 0; k < entries.size(); ++k) {
    const auto& [metric, dataset, data] = entries[k].group;
    if (!entries[k].value || (k > 0 && entries[k - 1].group == entries[k].group)) continue;
    std::vector<std::string> names;
    for (const Entry& entry : entries)
      if (entry.value && entry.group == entries[k].group) names.push_back(excerpt(entry.name));
    // Different data of one name are told apart by their paths.
    const bool alike = std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
      return entry.value && entry.group[0] == metric && entry.group[1] == dataset && entry.group[2] != data;
    });
    const auto higher = direction_of(metric);
    fmt::print("{} on {}{}: {}: {}\n", excerpt(metric), excerpt(dataset),
               alike ? fmt::format(" ({})", excerpt(path_of(entries[k].run))) : "", fmt::join(names, ", "),
               higher ? fmt::format("by validation (val_acc), {} is better, * the best",
                                    *higher ? "higher" : "lower")
                      : "not sorted, as it is not known whether higher is better");
  }
}

}  // namespace adj::apps
