#pragma once

#include <adjoint/data/import/node_files.h>

#include <string>
#include <vector>

namespace adj {

/// A file with one row per node: its format, its header, and the mapping of rows to nodes.
class NodeRows {
 public:
  /// `by_row`: rows have no id. `blank_rows`: empty lines are rows.
  NodeRows(const std::string& path, bool by_row, bool blank_rows, Header header,
           const std::optional<std::string>& comment, const NodeIds& ids, Progress* reading);

  TextSource& source() { return source_; }
  const TextSource& source() const { return source_; }
  const TableHead& head() const { return head_; }
  bool by_row() const { return by_row_; }
  bool is_header(int64_t line) const { return line == header_line_; }
  /// Without the id.
  int64_t columns() const { return head_.columns() - !by_row_; }
  /// Throws if there is no node of that id, or of row number `row`.
  int32_t node_of(std::string_view id, int64_t line) const;
  int32_t node_of_row(int64_t row, int64_t line) const;
  /// Throws if the node already had a row.
  void mark(int32_t node, int64_t line);
  /// "4 rows for 5 nodes; no row for 'w'": after so many rows, fewer than nodes.
  std::string shortage(int64_t rows) const;

  /// "FILE: separated by …", for a summary.
  std::string note(int64_t comments) const;
  bool has_header() const { return header_line_ > 0; }

 private:
  bool finds_header(const NodeIds& ids) const;
  std::string_view header_hint(int64_t line) const;

  TextSource source_;
  const NodeIds& ids_;
  bool by_row_;
  TableHead head_;
  int64_t header_line_ = 0;
  std::vector<uint8_t> seen_;
};

/// The node id in a line of a split file: the entire line, trimmed or quoted.
std::string id_in_split(const NodeRows& rows, int64_t line, std::string_view record);

/// float32 [N, columns], NaN if the file gives no value.
struct NumberRows {
  Tensor values;
  std::string note;
};
/// `missing`: is_missing() fields become NaN; otherwise they are an error that mentions --impute.
/// `every_node`: each node needs a row. `binary`: only 0 and 1.
NumberRows read_numbers(NodeRows& rows, int64_t nodes, bool missing, bool every_node, bool binary);

/// Replaces NaN column by column; returns a note: "5 missing numbers in 2 columns: …".
std::string impute(Tensor& x, Imputation imputation, const NodeRows& rows);

/// Sets y, classes and unlabelled of `data`; returns the note.
std::string read_classes(NodeRows& rows, const NodeFiles& files, Dataset& data);

}  // namespace adj
