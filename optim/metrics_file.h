#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace adj::optim {

/// The course of a training, a row an epoch: CSV with a header, or JSON lines where the name ends in
/// ".jsonl". Rows are kept here and the file holds all of them after each flush(), whole: a kill at any
/// moment leaves what the last flush() or an earlier training wrote. As a part of a TrainingState, a resumed
/// training goes on with the rows up to its checkpoint, so that no epoch is missing and none stands twice.
class MetricsFile {
 public:
  /// Nothing is written yet. Throws for a column that is no name (letters, digits, '_').
  MetricsFile(std::string path, std::vector<std::string> columns);

  /// Throws unless there is one number a column.
  void add(std::initializer_list<double> row);
  /// Replaces the file (core/file.h). Throws DataError.
  void flush();

  const std::vector<std::string>& columns() const { return columns_; }
  /// One after the other.
  const std::vector<double>& rows() const { return rows_; }
  /// Throws unless they are whole rows.
  void set_rows(std::vector<double> rows);

 private:
  std::string path_;
  std::vector<std::string> columns_;
  std::vector<double> rows_;
  bool json_;
};

}  // namespace adj::optim
