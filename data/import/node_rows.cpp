#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/field_encoding.h>
#include <adjoint/data/import/detail/missing_fields.h>
#include <adjoint/data/import/detail/node_rows.h>
#include <adjoint/data/import/edge_columns.h>
#include <adjoint/data/import/rounding.h>
#include <adjoint/data/import/thousands.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace adj {

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

}  // namespace

NodeRows::NodeRows(const std::string& path, bool by_row, bool blank_rows, const NodeFiles& files,
                   const TextFormat& text, const NodeIds& ids, Progress* reading)
    : source_(path, text.input, reading),
      ids_(ids),
      by_row_(by_row),
      blank_rows_(blank_rows),
      head_(read_head(path, text, blank_rows,
                      [&](const TableHead&, const auto& fields) {
                        return !by_row && ids.find(std::string_view(fields[0])) >= 0;
                      })),
      seen_(static_cast<size_t>(ids.size())) {
  if (head_.empty) source_.fail(0, "no rows, expected some{}", head_.beside_comments());
  const auto says_columns = [](const auto& fields) { return std::ranges::any_of(fields, is_common_name); };
  if (head_.is_table || files.headers == Header::yes ||
      (!head_.take_comment(path, files.headers, says_columns) && files.headers == Header::find_out &&
       finds_header(ids)))
    head_.take_header();
  const std::string place = head_.place(path);
  NodeColumnNames chosen;
  if (path == files.features) chosen = files.columns;
  chosen.typed = typed_columns(files.types, files.like);
  chosen.labels_alone = path != files.features;
  if (path == files.labels && chosen.labels_alone) {
    chosen.id = files.labels_id;
    chosen.ends = files.columns.ends;
  }
  if (path == files.labels)
    chosen.label = files.columns.label;
  else if (!files.labels.empty())
    chosen.label = "none";
  columns_ = node_columns(names(), first_fields(path, text.input, head_), head_.columns(), chosen, by_row,
                          place, [&](std::string_view id) { return ids.find(id) >= 0; });
  if (files.like && path == files.features) columns_.features = features_like(*files.like, chosen, place);
}

std::vector<int64_t> NodeRows::features_like(const LikeFile& like, const NodeColumnNames& chosen,
                                             const std::string& place) {
  std::vector<std::string> known;
  for (const ColumnEncoder& encoder : like.encoder.columns) known.push_back(encoder.column);
  std::vector<int64_t> features = columns_like(
      known, names(), head_.columns(), fmt::format("{}, features as in {}", place, excerpt(like.path)));
  const auto is_feature = [&](int64_t column) {
    return std::find(features.begin(), features.end(), column) != features.end();
  };
  if (is_feature(columns_.id))
    data_fail("{}: {} is a feature in {}, expected another column of ids (--id)", place,
              column_text(columns_.id, names()), excerpt(like.path));
  if (is_feature(columns_.label)) {
    if (!chosen.label.empty())
      data_fail("{}: {} is a feature in {}, expected another label", place,
                column_text(columns_.label, names()), excerpt(like.path));
    columns_.label = -1;
  }
  return features;
}

void NodeRows::read_columns(std::vector<int64_t> columns) {
  slots_ = std::move(columns);
  slot_.assign(static_cast<size_t>(std::max<int64_t>(head_.columns(), 1)), -1);
  for (size_t k = 0; k < slots_.size(); ++k) slot_[static_cast<size_t>(slots_[k])] = static_cast<int64_t>(k);
}

bool NodeRows::finds_header(const NodeIds& ids) const {
  if (head_.first.empty()) return false;
  const std::string& word = head_.first[0];
  if (!by_row_ && ids.find(std::string_view(word)) >= 0) return false;
  if (!by_row_ && ids.kind() != NodeIds::Kind::names && head_.is_word_beside_numbers(0) &&
      !head_.second.empty() && ids.find(std::string_view(head_.second[0])) >= 0)
    return true;
  if (!head_.may_be_header()) return false;
  return (!by_row_ && head_.names_beside_numbers()) || head_.numbers_under_words() || is_column_name(word) ||
         (!by_row_ && word.empty());
}

std::string_view NodeRows::header_hint(int64_t line) const {
  return line == head_.format.first_line && !has_header()
             ? " (--node-headers yes: the first line is a header)"
             : "";
}

int32_t NodeRows::node_of(std::string_view id, int64_t line, IdSpellings& spellings) const {
  const int32_t node = ids_.find(id, spellings);
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

void NodeRows::mark(int32_t node, int64_t line, std::string_view remedy) {
  uint8_t& seen = seen_[static_cast<size_t>(node)];
  if (seen != 0)
    source_.fail(line, "node '{}' occurs twice, expected one row each{}", excerpt(ids_.text(node)), remedy);
  seen = 1;
}

std::string NodeRows::shortage(int64_t rows) const {
  const auto none = std::find(seen_.begin(), seen_.end(), 0) - seen_.begin();
  return fmt::format("{} rows for {} nodes; no row for '{}'", rows, seen_.size(),
                     excerpt(ids_.text(static_cast<int32_t>(none))));
}

std::string NodeRows::note(const SkippedLines& skipped) const {
  return fmt::format("{}: {}{}{}", excerpt(source_.path()), head_.str(skipped), columns_.id_note(names()),
                     spellings_.note());
}

std::string id_in_split(const NodeRows& rows, int64_t line, std::string_view record) {
  record = trimmed(record);
  if (!record.starts_with('"')) return std::string(record);
  RecordFields field(rows.source(), line, record, Separator::comma);
  (void)field.next();
  if (field.more()) rows.source().fail(line, "more than an id, expected one id per line");
  return std::string(field.field());
}

void expect_room(const TextSource& source, int64_t nodes, int64_t columns) {
  constexpr int64_t kHarmless = int64_t{1} << 26, kValuesPerByte = 8, kNodesPerRow = 16;
  if (nodes * columns <= kHarmless || nodes * columns / kValuesPerByte <= source.bytes()) return;
  if (const int64_t rows = lines_in(source.path(), source.input()); rows < nodes / kNodesPerRow)
    source.fail(0, "{} rows of {} columns for {} nodes, expected at least one for every 16 nodes", rows,
                columns, nodes);
}

NumberRows read_targets(NodeRows& rows, int64_t nodes, bool binary) {
  const int64_t columns = std::ssize(rows.slots());
  TextSource& source = rows.source();
  if (columns < 1) source.fail(0, "no column after the id, expected some");
  expect_room(source, nodes, columns);
  Tensor all = Tensor::full({nodes, columns}, kNaN);
  float* const target = all.mutable_data<float>();
  struct Block : RowBlock {
    std::vector<Rounding> rounding;    // by slot
    std::vector<Thousands> thousands;  // the same
    MissingFields missing;
  };
  const auto number = [&](std::string_view field, int64_t line, size_t slot, Block& part) {
    const std::optional<float> flag = binary ? boolean_in(field) : std::nullopt;
    const std::optional<float> value = flag ? flag : rows.head().number_in(field);
    if (value && !flag) part.rounding[slot].add(field, *value);
    if (value && !flag) part.thousands[slot].add(field);
    if (value && (!binary || *value == 0.0f || *value == 1.0f)) return *value;
    if (is_missing(field)) {
      part.missing.add(line, rows.slots()[slot]);
      return kNaN;
    }
    source.fail(
        line, "\"{}\" in {}, expected {}{}", excerpt(field), column_text(rows.slots()[slot], rows.names()),
        binary ? "0 or 1, false or true" : "a finite number within float32", rows.head().decimal_hint(field));
  };
  SkippedLines skipped;
  MissingFields missing;
  int64_t gaps = 0;
  std::vector<Rounding> rounding(rows.slots().size());
  std::vector<Thousands> thousands(rounding.size());
  const auto [count, last_line] = rows.read_rows(
      source,
      [&](const TextBlock& block) {
        Block part;
        part.rounding.resize(rounding.size());
        part.thousands.resize(rounding.size());
        rows.read_block(block, columns, part,
                        [&](size_t slot, std::string_view field, int64_t line, float* row) {
                          row[slot] = number(field, line, slot, part);
                        });
        return part;
      },
      [&](const Block& part, size_t k, int32_t node) {
        rows.mark(node, part.lines[k]);
        std::copy_n(part.values.data() + static_cast<int64_t>(k) * columns, columns, target + node * columns);
      },
      [&](const Block& part) {
        skipped += part.skipped;
        missing.merge(part.missing);
        for (size_t k = 0; k < rounding.size(); ++k) {
          rounding[k].merge(part.rounding[k]);
          thousands[k].merge(part.thousands[k]);
        }
        gaps += std::count_if(part.values.begin(), part.values.end(), [](float v) { return std::isnan(v); });
      });
  if (rows.by_row() && count != nodes) source.fail(last_line, "{}", rows.shortage(count));
  std::string note = rows.note(skipped);
  if (missing.lines() > 0)
    note += fmt::format("; {} field{} taken as no label{}", gaps, gaps == 1 ? "" : "s",
                        missing.place(rows.names()));
  note += Rounding::total(rounding).note("target");
  for (size_t k = 0; k < thousands.size(); ++k) {
    thousands[k].expect_decimal(source, rows.head(), column_text(rows.slots()[k], rows.names()));
    note += thousands[k].note(rows.head(), "target");
  }
  return {all, note};
}

}  // namespace adj
