#include "run_table.h"

#include <adjoint/adjoint.h>
#include <adjoint/training.h>
#include <adjoint/training/recommend.h>

#include <algorithm>

#include <fmt/ranges.h>

namespace adj::apps {

namespace {

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

}  // namespace

void print_table(const std::vector<std::string>& rows, const std::vector<Column>& columns) {
  std::vector<std::string> lines(rows.size());
  append(lines, rows, true);
  for (const Column& column : columns) {
    std::vector<std::string> cells{excerpt(column.name)};
    for (const std::string& cell : column.cells) cells.push_back(cell.empty() ? "-" : cell);
    append(lines, cells, false);
  }
  fmt::print("{}\n", fmt::join(lines, "\n"));
}

std::string short_number(const std::string& text) {
  const auto number = number_in<double>(text);
  return number ? fmt::format("{:.5g}", *number) : text;
}

std::optional<bool> direction_of(const std::string& metric) {
  for (const training::Metric& one : training::link_metrics(metric))
    if (one.option == metric) return one.higher_is_better;
  for (const std::string name : names_of(training::TopKMetric{}))
    if (metric.starts_with(name + "@")) return true;
  return training::higher_is_better(metric);
}

}  // namespace adj::apps
