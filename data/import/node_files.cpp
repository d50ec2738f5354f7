#include <adjoint/core/text.h>
#include <adjoint/data/import/node_files.h>
#include <adjoint/data/import/number_rows.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace adj {

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

bool passed_over(std::string_view line) { return line.empty() || line[0] == '#' || trimmed(line).empty(); }

/// What the first line of a file says about all.
struct Layout {
  Separator separator = Separator::comma;
  int64_t columns = 0;      // without the id
  int64_t header_line = 0;  // 0: none
  bool empty = true;
};

Layout layout_of(const std::string& path, bool by_row, bool numeric, bool header, const NodeIds& ids) {
  TextSource source(path);
  Layout layout;
  for (std::string_view line; source.next(line);) {
    if (passed_over(line)) continue;
    layout.empty = false;
    layout.separator = separator_of(line);
    FieldCursor at(line, layout.separator);
    bool names = true;
    if (!by_row && at.next()) names = ids.kind() == NodeIds::Kind::names || !integer_in(at.field());
    const bool only_id = !by_row && !at.more();
    while (!only_id && at.next()) {
      ++layout.columns;
      names = names && (!numeric || (!float_in(at.field()) && !is_missing(at.field())));
    }
    // Of names nobody can tell a header from a node, but by numbers that it lacks.
    const bool can_tell = numeric || (!by_row && ids.kind() != NodeIds::Kind::names);
    if (header || (names && can_tell)) layout.header_line = source.line_number();
    break;
  }
  return layout;
}

/// Rows of numbers by node.
class RowReader {
 public:
  RowReader(const std::string& path, bool by_row, bool missing, bool header, const NodeIds& ids,
            Progress* reading)
      : source_(path, reading),
        ids_(ids),
        by_row_(by_row),
        layout_(layout_of(path, by_row, true, header, ids)),
        seen_(static_cast<size_t>(ids.size())) {
    format_.missing = missing;
    if (layout_.empty) source_.fail(0, "no rows, expected some");
    if (layout_.columns == 0) source_.fail(0, "no column behind the id, expected some");
  }

  /// float32 [N, columns], NaN where the file says nothing.
  Tensor read(bool every_node) {
    const int64_t nodes = ids_.size();
    Tensor all =
        every_node ? Tensor::empty({nodes, layout_.columns}) : Tensor::full({nodes, layout_.columns}, kNaN);
    float* const to = all.mutable_data<float>();
    int64_t rows = 0, last_line = 0;
    source_.for_blocks([this](const TextBlock& block) { return parse(block); },
                       [&](const Rows& made) {
                         for (size_t k = 0; k < made.lines.size(); ++k, ++rows) {
                           const int32_t node = by_row_ ? node_of_row(rows, made.lines[k]) : made.nodes[k];
                           mark(node, made.lines[k]);
                           std::memcpy(to + node * layout_.columns,
                                       made.values.data() + k * static_cast<size_t>(layout_.columns),
                                       static_cast<size_t>(layout_.columns) * sizeof(float));
                           last_line = made.lines[k];
                         }
                       });
    if ((by_row_ || every_node) && rows != nodes)
      source_.fail(last_line, "{} rows, expected {}, one a node", rows, nodes);
    return all;
  }
  const TextSource& source() const { return source_; }

 private:
  struct Rows {
    std::vector<int32_t> nodes;
    std::vector<int64_t> lines;
    std::vector<float> values;
  };

  Rows parse(const TextBlock& block) const {
    Rows rows;
    for (LineCursor at(block); at.next();) {
      std::string_view line = at.line();
      if (passed_over(line) || at.number() == layout_.header_line) continue;
      int64_t columns = 0;
      if (!by_row_) {
        FieldCursor field(line, layout_.separator);
        field.next();
        rows.nodes.push_back(ids_.find(field.field()));
        if (rows.nodes.back() < 0)
          source_.fail(at.number(), "\"{}\", expected the id of a node", excerpt(field.field()));
        line = field.rest();
        if (field.more())
          columns = append_numbers(source_, at.number(), line, layout_.separator, format_, rows.values);
      } else {
        columns = append_numbers(source_, at.number(), line, layout_.separator, format_, rows.values);
      }
      if (columns != layout_.columns)
        source_.fail(at.number(), "{} numbers, expected {} as in the first row", columns, layout_.columns);
      rows.lines.push_back(at.number());
    }
    return rows;
  }

  int32_t node_of_row(int64_t row, int64_t line) const {
    const int32_t node = ids_.find(row);
    if (node < 0) source_.fail(line, "row {}, from 0, but no node has that id", row);
    return node;
  }
  void mark(int32_t node, int64_t line) {
    uint8_t& seen = seen_[static_cast<size_t>(node)];
    if (seen != 0) source_.fail(line, "the node of an earlier line again, expected one line a node");
    seen = 1;
  }

  TextSource source_;
  const NodeIds& ids_;
  bool by_row_;
  Layout layout_;
  RowFormat format_;
  std::vector<uint8_t> seen_;
};

/// Ascending, as numbers where all are, which then are told apart as such.
struct LabelOrder {
  bool numeric = true;
  bool operator()(const std::string& a, const std::string& b) const {
    return numeric ? *integer_in(a) < *integer_in(b) : a < b;
  }
};

void read_classes(const NodeFiles& files, const NodeIds& ids, Dataset& data, Progress* reading) {
  const Layout layout = layout_of(files.labels, files.labels_by_row, false, files.headers, ids);
  TextSource source(files.labels, reading);
  std::map<std::string, int32_t, std::less<>> found;  // and the number by first appearance
  std::vector<const std::string*> names;
  constexpr int32_t kUnseen = -2;
  data.y = Tensor::full({data.num_nodes()}, kUnseen, DType::i32);
  int32_t* const y = data.y.mutable_data<int32_t>();
  int64_t row = 0;
  const auto label_of = [&](std::string_view field) {
    if (is_missing(field)) return int32_t{-1};
    auto at = found.find(field);
    if (at == found.end()) {
      at = found.emplace(field, static_cast<int32_t>(found.size())).first;
      names.push_back(&at->first);
    }
    return at->second;
  };
  for (std::string_view line; source.next(line);) {
    const int64_t number = source.line_number();
    if (number == layout.header_line) continue;
    // By rows an empty line is a node without a label.
    if (files.labels_by_row ? line.starts_with('#') : passed_over(line)) continue;
    if (files.labels_by_row && files.headers && number == 1) continue;
    FieldCursor at(line, layout.separator);
    int32_t node = 0;
    if (files.labels_by_row) {
      node = ids.find(row);
      if (node < 0) source.fail(number, "row {}, from 0, but no node has that id", row);
    } else {
      at.next();
      node = ids.find(at.field());
      if (node < 0) source.fail(number, "\"{}\", expected the id of a node", excerpt(at.field()));
    }
    if (y[node] != kUnseen)
      source.fail(number, "the node of an earlier line again, expected one line a node");
    const bool some = at.next();
    if (!some && !files.labels_by_row && layout.separator != Separator::blanks)
      source.fail(number, "no label, expected one behind the id");
    if (some && at.more())
      source.fail(number, "more than one label, expected one (of several the task is another)");
    y[node] = some ? label_of(at.field()) : -1;
    ++row;
  }
  if (files.labels_by_row && row != data.num_nodes())
    source.fail(source.line_number(), "{} rows, expected {}, one a node", row, data.num_nodes());
  if (names.empty()) source.fail(0, "no labels, expected some");

  LabelOrder order;
  order.numeric =
      std::all_of(names.begin(), names.end(), [](const auto* text) { return integer_in(*text).has_value(); });
  std::map<std::string, int32_t, LabelOrder> classes(order);  // "1" and "01" are one where all are numbers
  for (const std::string* text : names) classes.emplace(*text, 0);
  for (int32_t next = 0; auto& [text, number] : classes) number = next++;
  std::vector<int32_t> class_of(names.size());
  for (size_t k = 0; k < names.size(); ++k) class_of[k] = classes.find(*names[k])->second;
  for (int64_t i = 0; i < data.num_nodes(); ++i) {
    y[i] = y[i] < 0 ? -1 : class_of[static_cast<size_t>(y[i])];
    data.unlabelled += y[i] < 0;
  }
  data.classes = static_cast<int64_t>(classes.size());
}

void read_targets(const NodeFiles& files, const NodeIds& ids, Dataset& data, Progress* reading) {
  RowReader reader(files.labels, files.labels_by_row, true, files.headers, ids, reading);
  data.y = reader.read(false);
  const int64_t columns = data.y.size(1);
  const float* y = data.y.data<float>();
  for (int64_t i = 0; i < data.num_nodes(); ++i) {
    bool labelled = true;
    for (int64_t t = 0; t < columns; ++t) {
      const float value = y[i * columns + t];
      labelled = labelled && !std::isnan(value);
      if (files.task == Task::node_multilabel && !std::isnan(value) && value != 0.0f && value != 1.0f)
        reader.source().fail(0, "label {} of node {}, expected 0 or 1", value, i);
    }
    data.unlabelled += !labelled;
  }
}

bool is_labelled(const Tensor& y, int64_t i) {
  if (!y) return true;
  if (!is_floating(y.dtype())) return y.data<int32_t>()[i] >= 0;
  const float* row = y.data<float>() + i * y.size(1);
  return std::none_of(row, row + y.size(1), [](float value) { return std::isnan(value); });
}

Tensor read_part(const std::string& path, const NodeIds& ids, const Tensor& y, std::vector<uint8_t>& seen,
                 Progress* reading) {
  TextSource source(path, reading);
  std::vector<int32_t> part;
  for (std::string_view line; source.next(line);) {
    if (passed_over(line)) continue;
    const std::string_view id = trimmed(line);
    const int32_t node = ids.find(id);
    if (node < 0) source.fail(source.line_number(), "\"{}\", expected the id of a node", excerpt(id));
    if (seen[static_cast<size_t>(node)]++ != 0)
      source.fail(source.line_number(), "\"{}\" again, expected each node once in a split", excerpt(id));
    if (!is_labelled(y, node))
      source.fail(source.line_number(), "\"{}\", a node without a label", excerpt(id));
    part.push_back(node);
  }
  if (part.empty()) source.fail(0, "no ids, expected some");
  return Tensor::from(part);
}

}  // namespace

void read_node_files(const NodeFiles& files, const NodeIds& ids, Dataset& data, Progress* reading) {
  if (!files.features.empty()) {
    RowReader reader(files.features, files.features_by_row, false, files.headers, ids, reading);
    data.x = Features(reader.read(true));
  }
  if (!files.labels.empty()) {
    data.task = files.task;
    files.task == Task::node_class ? read_classes(files, ids, data, reading)
                                   : read_targets(files, ids, data, reading);
  }
  if (files.train.empty()) {
    data.train = data.val = data.test = Tensor::empty({0}, DType::i32);
    return;
  }
  std::vector<uint8_t> seen(static_cast<size_t>(data.num_nodes()));
  Split split;
  split.train = read_part(files.train, ids, data.y, seen, reading);
  split.val = read_part(files.val, ids, data.y, seen, reading);
  split.test = read_part(files.test, ids, data.y, seen, reading);
  data.splits.push_back(std::move(split));
  data.use_split(0);
}

}  // namespace adj
