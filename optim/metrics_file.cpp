#include <adjoint/core/error.h>
#include <adjoint/core/file.h>
#include <adjoint/optim/metrics_file.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/ranges.h>

namespace adj::optim {

MetricsFile::MetricsFile(std::string path, std::vector<std::string> columns)
    : path_(std::move(path)), columns_(std::move(columns)), json_(path_.ends_with(".jsonl")) {
  ADJ_CHECK(!columns_.empty(), "metrics: {}: expected one column or more", path_);
  for (const std::string& column : columns_)
    ADJ_CHECK(
        !column.empty() && std::all_of(column.begin(), column.end(),
                                       [](unsigned char c) { return c == '_' || std::isalnum(c) != 0; }),
        "metrics: {}: expected a column named by letters, digits and '_', got '{}'", path_, column);
}

void MetricsFile::add(std::initializer_list<double> row) {
  ADJ_CHECK(row.size() == columns_.size(), "metrics: {}: {} numbers for the columns {}", path_, row.size(),
            fmt::join(columns_, ", "));
  rows_.insert(rows_.end(), row.begin(), row.end());
}

void MetricsFile::set_rows(std::vector<double> rows) {
  ADJ_CHECK(rows.size() % columns_.size() == 0, "metrics: {}: {} numbers do not fill rows of {} columns",
            path_, rows.size(), columns_.size());
  rows_ = std::move(rows);
}

void MetricsFile::flush() {
  std::string text;
  if (!json_) text = fmt::format("{}\n", fmt::join(columns_, ","));
  for (size_t i = 0; i < rows_.size(); ++i) {
    const size_t column = i % columns_.size();
    if (json_) {  // JSON has no non-finite numbers
      text += fmt::format("{}\"{}\": {}", column == 0 ? "{" : ", ", columns_[column],
                          std::isfinite(rows_[i]) ? fmt::format("{}", rows_[i]) : "null");
    } else {
      text += fmt::format("{}{}", column == 0 ? "" : ",", rows_[i]);
    }
    if (column + 1 == columns_.size()) text += json_ ? "}\n" : "\n";
  }
  replace_file(path_, text);
}

}  // namespace adj::optim
