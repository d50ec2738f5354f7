#pragma once

#include <adjoint/data/import/node_files.h>

#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace adj {

/// Rows of one block of a file: as many values each, NaN for what is no number.
struct RowBlock {
  std::vector<int32_t> nodes;
  std::vector<int64_t> lines;
  std::vector<float> values;
  SkippedLines skipped;
  IdSpellings spellings;
};

/// A file with one row per node: its format, its header, and the mapping of rows to nodes.
class NodeRows {
 public:
  /// `by_row`: rows have no id. `blank_rows`: empty lines are rows.
  NodeRows(const std::string& path, bool by_row, bool blank_rows, const NodeFiles& files,
           const TextFormat& text, const NodeIds& ids, Progress* reading);

  TextSource& source() { return source_; }
  const TextSource& source() const { return source_; }
  const TableHead& head() const { return head_; }
  bool by_row() const { return by_row_; }
  /// Whether empty lines are rows.
  bool blank_rows() const { return blank_rows_; }
  bool has_header() const { return head_.has_header(); }
  /// Of the header; empty without one.
  std::span<const std::string> names() const { return head_.names(); }
  /// The columns by their names and NodeFiles::columns.
  const NodeColumns& columns() const { return columns_; }
  int64_t id_column() const { return columns_.id; }
  /// Chooses the columns to read.
  void read_columns(std::vector<int64_t> columns);
  const std::vector<int64_t>& slots() const { return slots_; }
  /// Number of a column among those to read; -1: not one of them.
  int64_t slot(int64_t column) const {
    const auto k = static_cast<size_t>(column);
    return k < slot_.size() ? slot_[k] : -1;
  }
  /// Adds the rows of a block to `part`, with `width` NaN each, and calls use(slot, field, line, row) for the
  /// fields of the columns to read; `row` points to these numbers. Thread-safe.
  template <class Use>
  void read_block(const TextBlock& block, int64_t width, RowBlock& part, Use use) const;
  /// One pass over the file by `source`: parse(block) gives a RowBlock, in parallel; then take(part, k, node)
  /// for row k of a part, and finish(part), in order. Returns the number of rows and the line of the last.
  template <class Parse, class Take, class Finish>
  std::pair<int64_t, int64_t> read_rows(TextSource& source, Parse parse, Take take, Finish finish);
  /// Throws if there is no node of that id, or of row number `row`.
  int32_t node_of(std::string_view id, int64_t line) { return node_of(id, line, spellings_); }
  int32_t node_of(std::string_view id, int64_t line, IdSpellings& spellings) const;
  int32_t node_of_row(int64_t row, int64_t line) const;
  /// Throws if the node already had a row.
  void mark(int32_t node, int64_t line, std::string_view remedy = {});
  /// "4 rows for 5 nodes; no row for 'w'": after so many rows, fewer than nodes.
  std::string shortage(int64_t rows) const;

  /// "FILE: separated by …", for a summary.
  std::string note(const SkippedLines& skipped) const;

 private:
  std::vector<int64_t> features_like(const LikeFile& like, const NodeColumnNames& chosen,
                                     const std::string& place);
  bool finds_header(const NodeIds& ids) const;
  std::string_view header_hint(int64_t line) const;

  TextSource source_;
  const NodeIds& ids_;
  bool by_row_, blank_rows_;
  TableHead head_;
  NodeColumns columns_;
  std::vector<int64_t> slots_, slot_;
  std::vector<uint8_t> seen_;
  IdSpellings spellings_;
};

template <class Use>
void NodeRows::read_block(const TextBlock& block, int64_t width, RowBlock& part, Use use) const {
  const RecordFormat& format = head_.format;
  RecordCursor cursor(block, format);
  while (cursor.next()) {
    const int64_t line = cursor.number();
    part.values.resize(part.values.size() + static_cast<size_t>(width),
                       std::numeric_limits<float>::quiet_NaN());
    float* const row = part.values.data() + part.values.size() - width;
    const auto count =
        with_fields(source_, line, cursor.record(), format.separator, cursor.quotes(), [&](auto field) {
          int64_t column = 0;
          for (; field.next(); ++column) {
            if (column == columns_.id)
              part.nodes.push_back(node_of(field.field(), line, part.spellings));
            else if (const int64_t k = slot(column); k >= 0)
              use(static_cast<size_t>(k), field.field(), line, row);
          }
          return column;
        });
    if (count != head_.columns()) source_.fail(line, "{}", head_.wrong_count(count));
    part.lines.push_back(line);
  }
  part.skipped = cursor.skipped();
}

template <class Parse, class Take, class Finish>
std::pair<int64_t, int64_t> NodeRows::read_rows(TextSource& source, Parse parse, Take take, Finish finish) {
  int64_t count = 0, last_line = 0;
  source.cut_by([this](std::string_view text, int64_t line) { return head_.format.last_end(text, line); });
  source.for_blocks(parse, [&](const auto& part) {
    for (size_t k = 0; k < part.lines.size(); ++k, ++count) {
      take(part, k, by_row_ ? node_of_row(count, part.lines[k]) : part.nodes[k]);
      last_line = part.lines[k];
    }
    spellings_.merge(part.spellings);
    finish(part);
  });
  return {count, last_line};
}

/// For many nodes, refuses a file of few rows with many columns, which would allocate far more than it has.
void expect_room(const TextSource& source, int64_t nodes, int64_t columns);

/// The node id in a line of a split file: the entire line, trimmed or quoted.
std::string id_in_split(const NodeRows& rows, int64_t line, std::string_view record);

/// float32 [N, columns], NaN if the file gives no value.
struct NumberRows {
  Tensor values;
  std::string note;
};
/// Targets, in the columns `rows.slots()`; is_missing() fields are NaN. `binary`: only 0 and 1.
NumberRows read_targets(NodeRows& rows, int64_t nodes, bool binary);

/// Sets y, classes and unlabelled of `data`; returns the note.
std::string read_classes(NodeRows& rows, const NodeFiles& files, Dataset& data);
/// Several labels of each node from one column: lists of them in a field ("a; b"), or a line for each. Sets y
/// [N, T], unlabelled and the labels' names; returns the note. A column of 0 and 1 is one label.
std::string read_label_sets(NodeRows& rows, const NodeFiles& files, Dataset& data);

/// Features of a table of nodes.
struct FeatureTable {
  Tensor x;                ///< float32 [N, F]; NaN: missing
  FeatureEncoder encoder;  ///< of its columns; "column 2" is the name of one without a header
  std::string note;
};

/// Reads the columns `rows.slots()`, finds their types and turns them into numbers; or as `files.like` says.
/// Nodes without a row are an error unless `files.impute` or the fillings of `files.like` say what they have.
/// Throws DataError naming file, line and column.
FeatureTable read_features(NodeRows& rows, int64_t nodes, const NodeFiles& files);

/// Fits the fillings of the encoder column by column over the nodes `train` (absent: all), and replaces NaN
/// by them; returns a note: "5 missing numbers imputed (mean) in 2 columns: …".
std::string impute(FeatureTable& table, Imputation imputation, const Tensor& train, const TextSource& source,
                   std::string_view item);

/// Columns of numbers, truths and categories that say the same as labels, int32 [N], of so many classes: each
/// class has a value of its own in the column, or in several together, one for each class. None of fewer than
/// two labels a class.
std::vector<std::string> label_copies(const FeatureTable& table, const Tensor& y, int64_t classes);

/// Columns with the same number in every row: "; constant: a, b"; or empty.
std::string constant_columns(const FeatureTable& table);

}  // namespace adj
