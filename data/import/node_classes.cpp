#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/node_rows.h>
#include <adjoint/data/import/label_classes.h>

#include <algorithm>
#include <optional>

namespace adj {

namespace {

/// "; class "unknown" has 3 of 5 labels (…)": names that usually mean no label.
std::string doubtful_classes(const Dataset& data) {
  constexpr std::string_view kNone[] = {"unknown", "unk",       "unlabeled", "unlabelled",
                                        "missing", "undefined", "-"};
  std::vector<int64_t> count(data.class_names.size());
  for (int32_t c : data.y.to_vector<int32_t>())
    if (c >= 0 && !count.empty()) ++count[static_cast<size_t>(c)];
  std::string note;
  for (size_t c = 0; c < count.size(); ++c)
    if (const std::string& name = data.class_names[c];
        std::find(std::begin(kNone), std::end(kNone), lower(name)) != std::end(kNone))
      note += fmt::format("; \"{}\" is a class, of {} node{} (--missing-labels \"{}\" makes it none)",
                          excerpt(name), count[c], count[c] == 1 ? "" : "s", excerpt(name));
  return note;
}

}  // namespace

std::string read_classes(NodeRows& rows, const NodeFiles& files, Dataset& data) {
  TextSource& source = rows.source();
  LabelTexts labels(files.missing_labels, is_missing_label);
  data.y = Tensor::full({data.num_nodes()}, -1, DType::i32);
  int32_t* const y = data.y.mutable_data<int32_t>();
  int64_t row = 0;
  RecordReader reader(source, rows.head().format);
  while (reader.next(rows.blank_rows())) {
    const int64_t line = reader.number();
    if (rows.is_header(line)) continue;
    int64_t column = 0;
    int32_t node = -1;
    std::optional<std::string> label;
    for (RecordFields field(source, line, reader.record(), rows.head().format.separator); field.next();
         ++column) {
      if (column == rows.id_column()) node = rows.node_of(field.field(), line);
      if (rows.slot(column) >= 0) label = field.field();
    }
    if (rows.by_row()) node = rows.node_of_row(row, line);
    if (column > std::max<int64_t>(rows.head().columns(), 1))  // the first may be an empty line
      source.fail(line, "{} fields, expected {} as in the first line", column, rows.head().columns());
    if (!label && !rows.by_row() && rows.head().format.separator != Separator::blanks)
      source.fail(line, "no label, expected one after the id");
    rows.mark(node, line);
    source.expect_utf8(line, label.value_or(""));
    y[node] = labels.add(label.value_or(""));
    ++row;
  }
  if (rows.by_row() && row != data.num_nodes()) source.fail(reader.number(), "{}", rows.shortage(row));
  const std::vector<const std::string*>& texts = labels.texts();
  if (texts.empty()) source.fail(0, "no labels, expected some");

  LabelClasses classes = label_classes(texts);
  for (int64_t i = 0; i < data.num_nodes(); ++i) {
    if (y[i] >= 0) y[i] = classes.class_of[static_cast<size_t>(y[i])];
    data.unlabelled += y[i] < 0;
  }
  data.classes = std::ssize(classes.names);
  if (classes.named) data.class_names = std::move(classes.names);
  return fmt::format(
      "{}; labels are {}{}{}{}", rows.note(reader.comments()),
      classes.order == LabelClasses::Order::text ? "text, alphabetical" : "numbers, in ascending order",
      classes.fractions ? ", some with fractions (--task node_regression for targets)" : "", labels.note(),
      doubtful_classes(data));
}

}  // namespace adj
