#pragma once

#include <optional>
#include <string>
#include <vector>

namespace adj::apps {

/// A column of a table of runs.
struct Column {
  std::string name;
  std::vector<std::string> cells;  ///< of each run
};

/// Prints a line of names, and one for each run: `rows`, of which the first heads them, and the cells. An
/// empty cell is a dash.
void print_table(const std::vector<std::string>& rows, const std::vector<Column>& columns);

/// "0.8149999999" as "0.815".
std::string short_number(const std::string& text);

/// Whether higher values of a metric of any program are better; absent for an unknown one.
std::optional<bool> direction_of(const std::string& metric);

}  // namespace adj::apps
