#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace adj::optim {

/// Metrics of a training, one row per epoch: CSV with a header, or JSON lines for names ending in ".jsonl".
/// Rows are kept in memory; flush() writes them all, atomically: after a kill the file holds the last flush()
/// or the earlier training's. As a part of a TrainingState, a resumed training continues with the rows up to
/// its checkpoint, so no epoch is missing or repeated.
class MetricsFile {
 public:
  /// Writes nothing yet. Throws for an invalid column name (letters, digits, '_').
  MetricsFile(std::string path, std::vector<std::string> columns);

  /// Throws unless there is one number per column.
  void add(std::initializer_list<double> row);
  /// Replaces the file (core/file.h). Throws DataError.
  void flush();

  const std::vector<std::string>& columns() const { return columns_; }  ///< the names, in order
  /// The rows, concatenated.
  const std::vector<double>& rows() const { return rows_; }
  /// Throws for incomplete rows.
  void set_rows(std::vector<double> rows);

 private:
  std::string path_;
  std::vector<std::string> columns_;
  std::vector<double> rows_;
  bool json_;
};

}  // namespace adj::optim
