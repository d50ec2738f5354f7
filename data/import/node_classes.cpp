#include <adjoint/core/text.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/field_encoding.h>
#include <adjoint/data/import/detail/node_rows.h>
#include <adjoint/data/import/label_classes.h>

#include <algorithm>
#include <optional>

namespace adj {

namespace {

/// "; class "unknown" has 3 of 5 labels (…)": names that usually mean no label.
std::string doubtful_classes(const Dataset& data, std::string_view item) {
  constexpr std::string_view kNone[] = {"unknown", "unk",       "unlabeled", "unlabelled",
                                        "missing", "undefined", "-"};
  std::vector<int64_t> count(data.class_names.size());
  for (int32_t c : data.y.to_vector<int32_t>())
    if (c >= 0 && !count.empty()) ++count[static_cast<size_t>(c)];
  std::string note;
  for (size_t c = 0; c < count.size(); ++c)
    if (const std::string& name = data.class_names[c];
        std::find(std::begin(kNone), std::end(kNone), lower(name)) != std::end(kNone))
      note += fmt::format("; \"{}\" is a class, of {} {}{} (--missing-labels \"{}\" makes it none)",
                          excerpt(name), count[c], item, count[c] == 1 ? "" : "s", excerpt(name));
  return note;
}

/// Calls use(node, line, label) for every row; an absent label is empty. Returns what is passed over.
template <class Use>
SkippedLines for_labels(NodeRows& rows, int64_t nodes, Use use) {
  TextSource& source = rows.source();
  int64_t row = 0;
  RecordReader reader(source, rows.head().format);
  while (reader.next(rows.blank_rows())) {
    const int64_t line = reader.number();
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
      source.fail(line, "{}", rows.head().wrong_count(column));
    if (!label && !rows.by_row() && rows.head().format.separator != Separator::blanks)
      source.fail(line, "no label, expected one after the id");
    source.expect_utf8(line, label.value_or(""));
    use(node, line, label.value_or(""));
    ++row;
  }
  if (rows.by_row() && row != nodes) source.fail(reader.number(), "{}", rows.shortage(row));
  return reader.skipped();
}

/// Labels of one node as a file has them.
struct LabelField {
  int32_t node;
  int64_t line;
  std::string text;
};

/// What is between the labels of a field: the first of these that is in any outside of quotes, blanks only if
/// all are in brackets, as numpy writes arrays; nothing: each field is one.
template <class IsMissing>
std::optional<Separator> label_separator(const std::vector<LabelField>& fields, IsMissing is_missing) {
  const bool arrays = std::ranges::all_of(fields, [&](const LabelField& field) {
    const std::string_view text = trimmed(field.text);
    return (text.starts_with('[') && is_bracketed(text)) || is_missing(text);
  });
  for (const Separator& separator :
       {Separator("|"), Separator::semicolon, Separator::comma, Separator::blanks})
    for (const LabelField& field : fields)
      if (const std::string_view list = list_in(field.text);
          (arrays || separator != Separator::blanks) && item_end(list, separator) < list.size())
        return separator;
  return arrays ? std::optional(Separator::comma) : std::nullopt;
}

/// 0 or 1, false or true.
std::optional<float> flag_in(std::string_view field) {
  return field == "0" ? 0.0f : field == "1" ? 1.0f : boolean_in(field);
}

/// The fields as rows of 0 and 1, as "[1, 0, 1]", if all are, with equally many; else nothing. As classes 0
/// and 1 they would be the same labels of all.
template <class IsMissing>
std::vector<std::vector<float>> flag_rows(const std::vector<LabelField>& fields, Separator separator,
                                          IsMissing is_missing) {
  std::vector<std::vector<float>> rows;
  size_t columns = 0;
  for (const LabelField& field : fields) {
    std::vector<float>& row = rows.emplace_back();
    if (is_missing(field.text)) continue;
    bool flags = true;
    for_items(field.text, separator, [&](std::string_view item) {
      const std::optional<float> flag = flag_in(without_fraction(item, Decimal::point));
      flags = flags && flag;
      row.push_back(flag.value_or(0.0f));
    });
    if (!flags || row.size() == 1 || (columns > 0 && !row.empty() && columns != row.size())) return {};
    columns = std::max(columns, row.size());
  }
  return columns > 0 ? rows : std::vector<std::vector<float>>();
}

/// Says which texts mean no label.
auto missing_test(const NodeFiles& files) { return files.signed_classes ? is_missing : is_missing_label; }

LabelTexts label_texts(const NodeRows& rows, const NodeFiles& files) {
  LabelTexts labels(files.missing_labels, missing_test(files));
  if (!rows.slots().empty()) labels.set_column(column_text(rows.slots()[0], rows.names()));
  return labels;
}

[[noreturn]] void fail_unlabelled(NodeRows& rows, const NodeFiles& files) {
  const bool in_table = rows.source().path() == files.features;
  rows.source().fail(0, "no labels, expected some{}",
                     in_table ? fmt::format(" in {} (--label none: there are none)",
                                            column_text(rows.slots()[0], rows.names()))
                              : "");
}

}  // namespace

std::string read_label_sets(NodeRows& rows, const NodeFiles& files, Dataset& data) {
  const int64_t nodes = data.num_nodes();
  std::vector<LabelField> fields;
  std::vector<uint8_t> seen(static_cast<size_t>(nodes));
  bool binary = true;
  const SkippedLines skipped = for_labels(rows, nodes, [&](int32_t node, int64_t line, std::string field) {
    if (rows.by_row()) rows.mark(node, line);
    if (const std::string_view problem = problem_of_items(field); !problem.empty())
      rows.source().fail(line, "\"{}\", {}", excerpt(field), problem);
    binary =
        binary && (flag_in(field) || missing_test(files)(field)) && seen[static_cast<size_t>(node)]++ == 0;
    fields.push_back({node, line, std::move(field)});
  });
  LabelTexts labels = label_texts(rows, files);
  const auto is_none = [&](std::string_view text) {
    const std::vector<std::string> none = files.missing_labels.value_or(std::vector<std::string>());
    return missing_test(files)(text) || std::ranges::find(none, text) != none.end();
  };
  const std::optional<Separator> separator = binary ? std::nullopt : label_separator(fields, is_none);
  if (separator)
    if (const auto flags = flag_rows(fields, *separator, is_none); !flags.empty()) {
      const int64_t columns = std::ranges::max(flags, {}, &std::vector<float>::size).size();
      expect_room(rows.source(), nodes, columns);
      data.y = Tensor::full({nodes, columns}, std::numeric_limits<double>::quiet_NaN());
      for (size_t k = 0; k < fields.size(); ++k) {
        if (!rows.by_row()) rows.mark(fields[k].node, fields[k].line);
        std::ranges::copy(flags[k], data.y.mutable_data<float>() + fields[k].node * columns);
      }
      data.unlabelled = detail::count_unlabelled(data.y);
      data.class_names.clear();
      return fmt::format("{}; labels are {} columns of 0 and 1, separated by {}", rows.note(skipped), columns,
                         name_of(*separator));
    }
  std::vector<std::pair<int32_t, int32_t>> pairs;  // nodes and numbers of texts
  for (const LabelField& field : fields) {
    const auto add = [&](std::string_view label) {
      if (const int32_t number = labels.add(label, field.line); number >= 0)
        pairs.emplace_back(field.node, number);
    };
    if (separator)
      for_items(field.text, *separator, add);
    else
      add(field.text);
  }
  if (pairs.empty()) fail_unlabelled(rows, files);
  LabelClasses classes = label_classes(labels.texts());
  const int64_t columns = binary ? 1 : std::ssize(classes.names);
  expect_room(rows.source(), nodes, columns);
  data.y = Tensor::full({nodes, columns}, std::numeric_limits<double>::quiet_NaN());
  float* const y = data.y.mutable_data<float>();
  for (const auto& [node, number] : pairs) std::fill_n(y + node * columns, columns, 0.0f);
  for (const auto& [node, number] : pairs)
    if (binary)
      y[node] = *flag_in(*labels.texts()[static_cast<size_t>(number)]);
    else
      y[node * columns + classes.class_of[static_cast<size_t>(number)]] = 1.0f;
  data.unlabelled = detail::count_unlabelled(data.y);
  const std::string hint = classes.hint("");
  if (binary || !classes.named)
    data.class_names.clear();
  else
    data.class_names = std::move(classes.names);
  return fmt::format("{}; labels are {}{}{}", rows.note(skipped),
                     binary ? "0 and 1" : fmt::format("{} kinds, {}{}", columns, classes.order_text(), hint),
                     separator ? fmt::format(", separated by {}", name_of(*separator)) : "", labels.note());
}

std::string read_classes(NodeRows& rows, const NodeFiles& files, Dataset& data) {
  LabelTexts labels = label_texts(rows, files);
  data.y = Tensor::full({data.num_nodes()}, -1, DType::i32);
  int32_t* const y = data.y.mutable_data<int32_t>();
  const SkippedLines skipped =
      for_labels(rows, data.num_nodes(), [&](int32_t node, int64_t line, const std::string& label) {
        rows.mark(node, line, " (--task node_multilabel takes several labels)");
        y[node] = labels.add(label, line);
      });
  const std::vector<const std::string*>& texts = labels.texts();
  if (texts.empty()) fail_unlabelled(rows, files);

  LabelClasses classes = label_classes(texts);
  for (int64_t i = 0; i < data.num_nodes(); ++i) {
    if (y[i] >= 0) y[i] = classes.class_of[static_cast<size_t>(y[i])];
    data.unlabelled += y[i] < 0;
  }
  data.classes = std::ssize(classes.names);
  const std::string hint = classes.hint(fmt::format("--task {}_regression", files.item));
  if (classes.named) data.class_names = std::move(classes.names);
  return fmt::format("{}; labels are {}{}{}{}", rows.note(skipped), classes.order_text(), hint, labels.note(),
                     doubtful_classes(data, files.item));
}

}  // namespace adj
