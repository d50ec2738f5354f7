// Shows runs as the rows of a table, the best by its validation metric first, and the options in which they
// differ.

#include "common/command_line.h"
#include "compare/ranking.h"
#include <adjoint/adjoint.h>

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

using namespace adj;
using namespace adj::apps;
using namespace adj::training;

namespace {

struct Column {
  std::string name;
  std::vector<std::string> cells;  // of each run
};

/// "0.8149999999" as "0.815".
std::string short_number(const std::string& text) {
  const auto number = number_in<double>(text);
  return number ? fmt::format("{:.5g}", *number) : text;
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

size_t characters(const std::string& text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

/// Appends a cell to each line, in a column of equal width.
void append(std::vector<std::string>& lines, const std::vector<std::string>& cells, bool left) {
  size_t width = 0;
  for (const std::string& cell : cells) width = std::max(width, characters(cell));
  for (size_t k = 0; k < lines.size(); ++k) {
    const std::string space(width - characters(cells[k]), ' ');
    lines[k] += left ? cells[k] + space : "  " + space + cells[k];
  }
}

/// A row for each run: a star if it is the best, its name, and its cells.
void print(const std::vector<Entry>& entries, const std::vector<Column>& columns) {
  std::vector<std::string> names{"  run"};
  for (const Entry& entry : entries) names.push_back((entry.best ? "* " : "  ") + excerpt(entry.name));
  std::vector<std::string> lines(names.size());
  append(lines, names, true);
  for (const Column& column : columns) {
    std::vector<std::string> cells{excerpt(column.name)};
    for (const std::string& cell : column.cells) cells.push_back(cell.empty() ? "-" : cell);
    append(lines, cells, false);
  }
  fmt::print("{}\n", fmt::join(lines, "\n"));
}

void compare(const std::vector<std::string>& folders) {
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
            "Shows runs written by --run-dir as rows, the best first: results, and the options that differ."))
      return;
    if (folders.empty()) usage_fail("expected compare DIR..., folders written by --run-dir");
    compare(folders);
  });
}
