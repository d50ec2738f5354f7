#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/column_numbers.h>
#include <adjoint/data/import/detail/node_rows.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

namespace adj {

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Rows of one block.
struct Rows {
  std::vector<int32_t> nodes;
  std::vector<int64_t> lines;
  std::vector<float> values;
  int64_t gaps = 0, comments = 0;
};

}  // namespace

NodeRows::NodeRows(const std::string& path, bool by_row, bool blank_rows, Header header,
                   const std::optional<std::string>& comment, const NodeIds& ids, Progress* reading)
    : source_(path, reading),
      ids_(ids),
      by_row_(by_row),
      head_(read_head(path, comment, blank_rows,
                      [&](const TableHead&, const auto& fields) {
                        return !by_row && ids.find(std::string_view(fields[0])) >= 0;
                      })),
      seen_(static_cast<size_t>(ids.size())) {
  if (head_.empty) source_.fail(0, "no rows, expected some{}", head_.beside_comments());
  if (header == Header::yes || (header == Header::find_out && finds_header(ids)))
    header_line_ = head_.format.first_line;
}

bool NodeRows::finds_header(const NodeIds& ids) const {
  if (head_.first.empty() || !head_.may_be_header()) return false;
  const std::string& word = head_.first[0];
  if (!by_row_ && ids.find(std::string_view(word)) >= 0) return false;
  return head_.numbers_under_words() || is_column_name(word) || (!by_row_ && word.empty());
}

std::string_view NodeRows::header_hint(int64_t line) const {
  return line == head_.format.first_line && !has_header()
             ? " (--node-headers yes: the first line is a header)"
             : "";
}

int32_t NodeRows::node_of(std::string_view id, int64_t line) const {
  const int32_t node = ids_.find(id);
  if (node >= 0) return node;
  if (ids_.kind() == NodeIds::Kind::numbers)
    source_.fail(line, "\"{}\" is not a node, expected 0 to {} (--nodes N for more){}", excerpt(id),
                 ids_.size() - 1, header_hint(line));
  source_.expect_utf8(line, id);
  source_.fail(
      line, "\"{}\" is in no edge, expected an id that is in an edge{}{}", excerpt(id),
      ids_.kind() == NodeIds::Kind::integers ? " (--ids numbers --nodes N allows nodes without edges)" : "",
      header_hint(line));
}

int32_t NodeRows::node_of_row(int64_t row, int64_t line) const {
  const int32_t node = ids_.find(row);
  if (node < 0)
    source_.fail(line, "row {}, from 0, but no node has that id{}", row,
                 has_header() ? "" : header_hint(head_.format.first_line));
  return node;
}

void NodeRows::mark(int32_t node, int64_t line) {
  uint8_t& seen = seen_[static_cast<size_t>(node)];
  if (seen != 0) source_.fail(line, "node '{}' occurs twice", excerpt(ids_.text(node)));
  seen = 1;
}

std::string NodeRows::shortage(int64_t rows) const {
  const auto none = std::find(seen_.begin(), seen_.end(), 0) - seen_.begin();
  return fmt::format("{} rows for {} nodes; no row for '{}'", rows, seen_.size(),
                     excerpt(ids_.text(static_cast<int32_t>(none))));
}

std::string NodeRows::note(int64_t comments) const {
  return fmt::format("{}: {}", excerpt(source_.path()), head_.str(header_line_, comments));
}

std::string id_in_split(const NodeRows& rows, int64_t line, std::string_view record) {
  record = trimmed(record);
  if (!record.starts_with('"')) return std::string(record);
  RecordFields field(rows.source(), line, record, Separator::comma);
  (void)field.next();
  if (field.more()) rows.source().fail(line, "more than an id, expected one id per line");
  return std::string(field.field());
}

namespace {

/// For many nodes, a file of few rows with many columns would allocate far more than it contains.
void expect_room(const TextSource& source, int64_t nodes, int64_t columns) {
  constexpr int64_t kHarmless = int64_t{1} << 26, kValuesPerByte = 8, kNodesPerRow = 16;
  std::error_code error;
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(source.path(), error));
  if (nodes * columns <= kHarmless || nodes * columns / kValuesPerByte <= bytes) return;
  if (const int64_t rows = lines_in(source.path()); rows < nodes / kNodesPerRow)
    source.fail(0, "{} rows of {} columns for {} nodes, expected at least one for every 16 nodes", rows,
                columns, nodes);
}

}  // namespace

NumberRows read_numbers(NodeRows& rows, int64_t nodes, bool missing, bool every_node, bool binary) {
  const int64_t columns = rows.columns();
  const RecordFormat& format = rows.head().format;
  TextSource& source = rows.source();
  if (columns < 1) source.fail(0, "no column after the id, expected some");
  expect_room(source, nodes, columns);
  Tensor all = every_node ? Tensor::empty({nodes, columns}) : Tensor::full({nodes, columns}, kNaN);
  float* const target = all.mutable_data<float>();
  const auto number = [&](std::string_view field, int64_t line, int64_t column) {
    const std::optional<float> value = float_in(field);
    if (value && (!binary || *value == 0.0f || *value == 1.0f)) return *value;
    const bool gap = is_missing(field);
    if (gap && missing) return kNaN;
    source.fail(line, "\"{}\" in column {}, expected {}{}", excerpt(field), column,
                binary ? "0 or 1" : "a finite number within float32",
                gap ? " (--impute mean, median or zero fills gaps)" : "");
  };
  const auto parse = [&](const TextBlock& block) {
    Rows result;
    RecordCursor cursor(block, format);
    while (cursor.next()) {
      const int64_t line = cursor.number();
      if (rows.is_header(line)) continue;
      const auto column =
          with_fields(source, line, cursor.record(), format.separator, cursor.quotes(), [&](auto field) {
            int64_t count = 0;
            for (; field.next(); ++count) {
              if (count == 0 && !rows.by_row())
                result.nodes.push_back(rows.node_of(field.field(), line));
              else
                result.values.push_back(number(field.field(), line, count + 1));
            }
            return count;
          });
      if (column != rows.head().columns())
        source.fail(line, "{} fields, expected {} as in the first line", column, rows.head().columns());
      result.lines.push_back(line);
    }
    result.gaps =
        std::count_if(result.values.begin(), result.values.end(), [](float v) { return std::isnan(v); });
    result.comments = cursor.comments();
    return result;
  };
  int64_t count = 0, last_line = 0, comments = 0, gaps = 0;
  source.cut_by([&](std::string_view text, int64_t line) { return format.last_end(text, line); });
  source.for_blocks(parse, [&](const Rows& part) {
    for (size_t k = 0; k < part.lines.size(); ++k, ++count) {
      const int32_t node = rows.by_row() ? rows.node_of_row(count, part.lines[k]) : part.nodes[k];
      rows.mark(node, part.lines[k]);
      std::memcpy(target + node * columns, part.values.data() + k * static_cast<size_t>(columns),
                  static_cast<size_t>(columns) * sizeof(float));
      last_line = part.lines[k];
    }
    comments += part.comments;
    gaps += part.gaps;
  });
  if ((rows.by_row() || every_node) && count != nodes) source.fail(last_line, "{}", rows.shortage(count));
  std::string note = rows.note(comments);
  if (gaps > 0 && !every_node)
    note += fmt::format("; {} field{} taken as no label", gaps, gaps == 1 ? "" : "s");
  return {all, note};
}

std::string impute(Tensor& x, Imputation imputation, const NodeRows& rows) {
  constexpr int64_t kShown = 5;
  const int64_t nodes = x.size(0), columns = x.size(1), first = rows.by_row() ? 1 : 2;
  float* const values = x.mutable_data<float>();
  std::vector<int64_t> gaps(static_cast<size_t>(columns));
  for (int64_t k = 0; k < nodes * columns; ++k)
    gaps[static_cast<size_t>(k % columns)] += std::isnan(values[k]);
  int64_t all = 0, with_gaps = 0;
  std::string where;
  for (int64_t column = 0; column < columns; ++column) {
    const int64_t missing = gaps[static_cast<size_t>(column)];
    if (missing == 0) continue;
    std::vector<float> seen;
    for (int64_t i = 0; i < nodes; ++i)
      if (!std::isnan(values[i * columns + column])) seen.push_back(values[i * columns + column]);
    if (seen.empty() && imputation != Imputation::zero)
      rows.source().fail(0, "no number in column {}, expected at least one to find its {}", column + first,
                         name_of(imputation));
    const float filling = detail::imputed_value(imputation, std::move(seen));
    for (int64_t i = 0; i < nodes; ++i)
      if (std::isnan(values[i * columns + column])) values[i * columns + column] = filling;
    all += missing;
    if (++with_gaps <= kShown)
      where += fmt::format("{}{} in column {}", where.empty() ? "" : ", ", missing, column + first);
  }
  if (all == 0) return "nothing to impute";
  return fmt::format("{} missing number{} imputed ({}) in {} column{}: {}{}", all, all == 1 ? "" : "s",
                     name_of(imputation), with_gaps, with_gaps == 1 ? "" : "s", where,
                     with_gaps > kShown ? ", …" : "");
}

}  // namespace adj
