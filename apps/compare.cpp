// Shows runs as the rows of a table, the best by its validation metric first, and the options in which they
// differ.

#include "common/command_line.h"
#include "common/run_table.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/ranges.h>

using namespace adj;
using namespace adj::apps;
using namespace adj::training;

namespace {

/// A run to compare.
struct Entry {
  std::string name;
  RunSummary run;
  /// Metric, name of the dataset, its fingerprint, or else its path, and what was validated on; only runs of
  /// one group are ranked.
  std::array<std::string, 4> group = {};
  std::optional<double> value = {};  ///< the validation metric; absent without a result
  bool best = false;
};

/// "a" for "runs/a/".
std::string name_of_folder(const std::string& folder) {
  const auto path = std::filesystem::path(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

std::string path_of(const RunSummary& run) {
  const auto path = run.options.find("data");
  return path == run.options.end() ? "" : path->second;
}

/// The runs, with the names of their folders, or of equal names the paths. Throws DataError.
std::vector<Entry> read_entries(const std::vector<std::string>& folders) {
  std::vector<Entry> entries;
  for (const std::string& folder : folders) {
    const std::string name = name_of_folder(folder);
    const bool shared = std::any_of(folders.begin(), folders.end(), [&](const std::string& other) {
      return other != folder && name_of_folder(other) == name;
    });
    Entry entry{shared ? folder : name, read_run(folder)};
    const RunSummary& run = entry.run;
    entry.group = {run.result_named("metric"), run.result_named("dataset"),
                   run.data.empty() ? path_of(run) : run.data, run.validation};
    const auto value = number_in<double>(run.result_named("val_acc"));
    if (run.finished && value && std::isfinite(*value)) entry.value = value;
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// Sorts by groups, in the order of their first runs, and within each from the best to the worst. Equal runs
/// stay in order, and all of the best are `best`. Runs without a value are last; runs of a metric without a
/// known direction are not sorted.
void rank(std::vector<Entry>& entries) {
  std::vector<std::array<std::string, 4>> groups;
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

/// Prints how each group is sorted.
void explain_ranks(const std::vector<Entry>& entries) {
  for (size_t k = 0; k < entries.size(); ++k) {
    const auto& [metric, dataset, data, validation] = entries[k].group;
    if (!entries[k].value || (k > 0 && entries[k - 1].group == entries[k].group)) continue;
    std::vector<std::string> names;
    for (const Entry& entry : entries)
      if (entry.value && entry.group == entries[k].group) names.push_back(excerpt(entry.name));
    // Different data of one name are told apart by their paths, and groups of one by what they validate on.
    const auto alike = [&](size_t member) {
      return std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
        return entry.value && entry.group[0] == metric && entry.group[1] == dataset &&
               entry.group[member] != entries[k].group[member];
      });
    };
    std::string told;
    if (alike(2)) told = fmt::format(" ({})", excerpt(path_of(entries[k].run)));
    if (alike(3) && !validation.empty())
      told += fmt::format(" ({})", excerpt(validation.substr(0, validation.rfind(", contents"))));
    const auto higher = direction_of(metric);
    fmt::print("{} on {}{}: {}: {}\n", excerpt(metric), excerpt(dataset), told, fmt::join(names, ", "),
               higher ? fmt::format("by validation (val_acc), {} is better, * the best",
                                    *higher ? "higher" : "lower")
                      : "not sorted, as it is not known whether higher is better");
  }
}

/// Members of --json that are results of a run.
bool is_outcome(const std::string& name) {
  static const std::set<std::string> kNames{"train_loss", "best_epoch", "epochs_run",
                                            "epoch_ms",   "peak_mb",    "wall_s"};
  return kNames.contains(name) || name.starts_with("val_") || name.starts_with("test_");
}

/// Names in the order in which the runs have them, those of later runs last.
template <class Names>
void add_new(std::vector<std::string>& all, const Names& names) {
  for (const auto& [name, value] : names)
    if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
}

template <class Cell>
Column column(const std::string& name, const std::vector<Entry>& entries, Cell&& cell) {
  Column all{name, {}};
  for (const Entry& entry : entries) all.cells.push_back(excerpt(std::invoke(cell, entry)));
  return all;
}

bool is_constant(const Column& column) {
  return std::set<std::string>(column.cells.begin(), column.cells.end()).size() == 1;
}

std::vector<Column> facts(const std::vector<Entry>& entries) {
  std::vector<Column> all;
  for (const char* name : {"model", "dataset", "metric"})
    all.push_back(column(name, entries, [name](const Entry& e) { return e.run.result_named(name); }));
  for (const auto& [name, field] : {std::pair("device", &RunSummary::device),
                                    {"isa", &RunSummary::isa},
                                    {"version", &RunSummary::version}})
    all.push_back(column(name, entries, [field = field](const Entry& e) { return e.run.*field; }));
  if (std::any_of(entries.begin(), entries.end(), [](const Entry& e) { return !e.run.finished; }))
    all.push_back(column("state", entries,
                         [](const Entry& e) { return e.run.finished ? "finished" : "not finished"; }));
  return all;
}

std::vector<Column> outcomes(const std::vector<Entry>& entries) {
  std::vector<std::string> names{"val_acc", "test_acc"};
  for (const Entry& entry : entries) add_new(names, entry.run.results);
  std::vector<Column> all;
  for (const std::string& name : names)
    if (is_outcome(name))
      all.push_back(
          column(name, entries, [&](const Entry& e) { return short_number(e.run.result_named(name)); }));
  return all;
}

/// Files of a run differ in every run, and are left out.
std::vector<Column> differing_options(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) add_new(names, entry.run.options);
  std::vector<Column> all{column("program", entries, [](const Entry& e) { return e.run.program; })};
  for (const std::string& name : names)
    if (!names_run_file(name))
      all.push_back(column(name, entries, [&](const Entry& e) {
        const auto option = e.run.options.find(name);
        return option == e.run.options.end() ? "" : option->second;
      }));
  std::erase_if(all, is_constant);
  return all;
}

/// A row for each run: a star if it is the best, its name, and its cells.
void print(const std::vector<Entry>& entries, const std::vector<Column>& columns) {
  std::vector<std::string> names{"  run"};
  for (const Entry& entry : entries) names.push_back((entry.best ? "* " : "  ") + excerpt(entry.name));
  print_table(names, columns);
}

/// The folders, and in the place of a study's (`sweep`) those of its trials.
std::vector<std::string> with_trials(const std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  std::vector<std::string> all;
  for (const std::string& folder : folders) {
    if (!fs::exists(fs::path(folder) / "study.json")) {
      all.push_back(folder);
      continue;
    }
    std::vector<std::string> trials;
    for (const auto& entry : fs::directory_iterator(folder))
      if (fs::exists(entry.path() / "run.json")) trials.push_back(entry.path().string());
    if (trials.empty()) data_fail("{}: a study without a trial that began", folder);
    std::sort(trials.begin(), trials.end());
    all.insert(all.end(), trials.begin(), trials.end());
  }
  return all;
}

void compare(const std::vector<std::string>& named) {
  const std::vector<std::string> folders = with_trials(named);
  std::vector<Entry> entries = read_entries(folders);
  rank(entries);
  std::vector<Column> columns = outcomes(entries);
  std::vector<std::string> common;
  for (Column& fact : facts(entries))
    if (is_constant(fact))
      common.push_back(fmt::format("{} {}", fact.name, fact.cells[0].empty() ? "-" : fact.cells[0]));
    else
      columns.push_back(std::move(fact));
  print(entries, columns);
  if (!common.empty()) fmt::print("{}{}\n", folders.size() < 2 ? "" : "all: ", fmt::join(common, ", "));
  if (folders.size() < 2) return;
  fmt::print("\n");
  explain_ranks(entries);
  const std::vector<Column> options = differing_options(entries);
  fmt::print("\n{}\n", options.empty() ? "no option differs" : "options that differ:");
  if (!options.empty()) print(entries, options);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("compare", [&] {
    std::vector<std::string> folders;
    if (!read_options(
            argc, argv, table_of({{"run", &folders, "DIR", "the folder of a run, also as argument"}}),
            {"run..."}, "compare DIR...",
            "Shows runs written by --run-dir as rows, the best first: results, and the options that differ. "
            "A folder of sweep is that of its trials."))
      return;
    if (folders.empty()) usage_fail("expected compare DIR..., folders written by --run-dir");
    compare(folders);
  });
}
