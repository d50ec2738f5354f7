// Shows runs side by side: their results, and the options in which they differ.

#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/core/text.h>
#include <adjoint/training/run_folder.h>

#include <algorithm>
#include <filesystem>
#include <set>

using namespace adj;
using namespace adj::apps;
using namespace adj::training;
namespace po = boost::program_options;

namespace {

using Row = std::vector<std::string>;  // a name, and a cell for each run

/// "0.8149999999" as "0.815".
std::string short_number(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' ? text : fmt::format("{:.5g}", number);
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

Row result_row(const std::string& name, const std::vector<RunSummary>& runs) {
  Row row{name};
  for (const RunSummary& run : runs) row.push_back(short_number(run.result_named(name)));
  return row;
}

std::vector<Row> outcomes(const std::vector<RunSummary>& runs) {
  std::vector<std::string> names;
  for (const RunSummary& run : runs) add_new(names, run.results);
  std::vector<Row> rows;
  for (const char* name : {"model", "dataset", "metric"}) rows.push_back(result_row(name, runs));
  if (std::any_of(runs.begin(), runs.end(), [](const RunSummary& run) { return !run.finished; })) {
    rows.push_back({"state"});
    for (const RunSummary& run : runs) rows.back().push_back(run.finished ? "finished" : "not finished");
  }
  for (const auto& [name, field] : {std::pair("device", &RunSummary::device),
                                    {"isa", &RunSummary::isa},
                                    {"version", &RunSummary::version}}) {
    rows.push_back({name});
    for (const RunSummary& run : runs) rows.back().push_back(run.*field);
  }
  for (const std::string& name : names)
    if (is_outcome(name)) rows.push_back(result_row(name, runs));
  return rows;
}

/// Files that a run writes or reads differ in every run, and are left out.
std::vector<Row> differing_options(const std::vector<RunSummary>& runs) {
  static const std::set<std::string> kFiles{"run-dir",     "metrics", "checkpoint", "report", "html",
                                            "tensorboard", "trace",   "predict",    "plot",   "resume"};
  std::vector<std::string> names{"program"};
  for (const RunSummary& run : runs) add_new(names, run.options);
  std::vector<Row> rows;
  for (const std::string& name : names) {
    Row row{name};
    for (const RunSummary& run : runs) {
      const auto option = run.options.find(name);
      row.push_back(name == "program" ? run.program : option == run.options.end() ? "" : option->second);
    }
    const bool same = std::set<std::string>(row.begin() + 1, row.end()).size() == 1;
    if (!same && !kFiles.contains(name)) rows.push_back(std::move(row));
  }
  return rows;
}

void print(const std::vector<Row>& rows, const std::vector<size_t>& widths) {
  for (const Row& row : rows) {
    fmt::print("{:{}}", row[0], widths[0]);
    for (size_t k = 1; k < row.size(); ++k) fmt::print("  {:>{}}", row[k].empty() ? "-" : row[k], widths[k]);
    fmt::print("\n");
  }
}

/// "a" for "runs/a/".
std::string name_of_folder(const std::string& folder) {
  const auto path = std::filesystem::path(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

void compare(const std::vector<std::string>& folders) {
  std::vector<RunSummary> runs;
  Row head{"run"};
  for (const std::string& folder : folders) {
    runs.push_back(read_run(folder));
    head.push_back(name_of_folder(folder));
  }
  for (size_t k = 1; k < head.size(); ++k)  // of equal names the paths
    for (const std::string& folder : folders)
      if (folder != folders[k - 1] && name_of_folder(folder) == name_of_folder(folders[k - 1]))
        head[k] = folders[k - 1];
  std::vector<Row> results = outcomes(runs);
  results.insert(results.begin(), head);
  std::vector<Row> options = differing_options(runs);
  std::vector<size_t> widths(runs.size() + 1, 1);
  for (auto* rows : {&results, &options})
    for (Row& row : *rows)
      for (size_t k = 0; k < row.size(); ++k) {
        row[k] = excerpt(row[k]);
        widths[k] = std::max(widths[k], row[k].size());
      }
  print(results, widths);
  if (runs.size() < 2) return;
  fmt::print("\n{}\n", options.empty() ? "no option differs" : "options that differ:");
  print(options, widths);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("compare", [&] {
    std::vector<std::string> folders;
    po::options_description options("Options");
    options.add_options()("run", po::value(&folders)->value_name("DIR"),
                          "the folder of a run, also as argument");
    if (!read_options(argc, argv, options, {"run..."}, "compare DIR...",
                      "Shows runs written by --run-dir side by side: results, and the options that differ."))
      return;
    if (folders.empty()) usage_fail("expected compare DIR..., folders written by --run-dir");
    compare(folders);
  });
}
