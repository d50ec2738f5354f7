#include <adjoint/core/text.h>
#include <adjoint/data/import/chosen_nodes.h>
#include <adjoint/data/import/detail/item_names.h>
#include <adjoint/data/import/edge_columns.h>

#include <algorithm>
#include <optional>

namespace adj {

namespace {

using detail::ItemNames;

TextFormat readable(TextFormat text, const std::string& path) {
  text.input.copies = std::make_shared<const InputCopies>(std::initializer_list<std::string>{path});
  return text;
}

/// The nodes at the two ends of pairs.
class EndNames {
 public:
  EndNames(const Dataset& data, const Dataset* targets, const std::string& file,
           std::optional<Decimal> decimal)
      : sources_(data, file, false, decimal) {
    if (targets != nullptr) targets_.emplace(*targets, file, false, decimal);
  }
  const ItemNames& names(bool target) const { return target && targets_ ? *targets_ : sources_; }
  bool is_node(std::string_view field) const {
    return names(false).find(field) >= 0 || names(true).find(field) >= 0;
  }

 private:
  ItemNames sources_;
  std::optional<ItemNames> targets_;  // absent: the sources
};

constexpr const char* kEndNames =
    "source and target, src and dst, from and to, head and tail, sender and receiver, or other names that "
    "edge lists know";

/// Of a header whose names say nothing: the two columns that have nodes in the row below.
EdgeColumns node_pair_columns(const TableHead& head, const EndNames& names, EdgeColumns named,
                              const std::string& place) {
  std::vector<int64_t> nodes;
  for (size_t k = 0; k < head.second.size(); ++k)
    if (names.is_node(head.second[k])) nodes.push_back(static_cast<int64_t>(k));
  const auto is_node = [&](int64_t column) { return std::ranges::find(nodes, column) != nodes.end(); };
  if (named.rule != EdgeColumns::Rule::none && is_node(named.source) && is_node(named.target)) return named;
  if (nodes.size() != 2)
    data_fail("{}: \"{}\", {} columns with nodes below, expected two, or a header with {}", place,
              excerpt(head.row), nodes.size(), kEndNames);
  named.source = nodes[0];
  named.target = nodes[1];
  return named;
}

/// The columns of source and target. Sets whether the first line is a header: it names no node, and has names
/// of ends or of ids, or words above numbers.
EdgeColumns pair_columns(const std::string& path, const EndNames& names, TableHead& head) {
  const std::string place = head.place(path);
  if (head.columns() < 2) data_fail("{}: one column, expected the two nodes of a pair", place);
  const bool commented = !head.is_table && head.take_comment(path, Header::find_out, [&](const auto& names) {
    return edge_columns(names, {}, place).rule == EdgeColumns::Rule::known;
  });
  const EdgeColumns named = edge_columns(head.first, {}, place);
  if (commented)
    return named.rule != EdgeColumns::Rule::none ? named : node_pair_columns(head, names, named, place);
  const auto is_node = [&](const std::string& field) { return names.is_node(field); };
  const auto is_node_in = [&](int64_t column) { return is_node(head.first[static_cast<size_t>(column)]); };
  const bool known = named.rule == EdgeColumns::Rule::known;
  const bool header = head.is_table || (known && !(is_node_in(named.source) && is_node_in(named.target)));
  const bool other_words = !header && head.may_be_header() && std::ranges::none_of(head.first, is_node) &&
                           (head.numbers_under_words() || std::ranges::any_of(head.first, is_common_name));
  if (header || other_words) head.take_header();
  if (header && named.rule != EdgeColumns::Rule::none) return named;
  if (header || other_words) return node_pair_columns(head, names, named, place);
  return edge_columns(head.columns(), {}, place);
}

}  // namespace

EdgeIndex read_pairs(const std::string& path, const Dataset& data, const std::string& file,
                     const TextFormat& format, std::vector<std::string>* notes, const Dataset* targets) {
  const EndNames names(data, targets, file, format.decimal);
  const TextFormat text = readable(format, path);
  TableHead head = read_head(path, text, false, [&](const TableHead&, const auto& fields) {
    return fields.size() > 1 && names.is_node(fields[0]) && names.is_node(fields[1]);
  });
  if (head.empty) data_fail("{}: no pairs, expected some{}", excerpt(path), head.beside_comments());
  const EdgeColumns columns = pair_columns(path, names, head);
  TextSource source(path, text.input);
  RecordReader reader(source, head.format);
  std::vector<int32_t> ends[2];
  IdSpellings spellings;
  while (reader.next()) {
    const int64_t line = reader.number();
    int64_t column = 0;
    int32_t pair[2] = {-1, -1};
    for (RecordFields field(source, line, reader.record(), head.format.separator); field.next(); ++column) {
      if (column != columns.source && column != columns.target) continue;
      const ItemNames& known = names.names(column == columns.target);
      const int32_t row = known.find(field.field(), spellings);
      if (row < 0)
        source.fail(line, "{}{}", known.unknown(field.field()),
                    line == head.format.first_line
                        ? fmt::format("; if this line is a header, expected {}", kEndNames)
                        : "");
      pair[column == columns.target ? 1 : 0] = row;
    }
    if (column != head.columns()) source.fail(line, "{}", head.wrong_count(column));
    for (size_t end = 0; end < 2; ++end) ends[end].push_back(pair[end]);
  }
  if (ends[0].empty()) source.fail(0, "no pairs after the header, expected some");
  if (notes != nullptr) {
    const std::string found = columns.str(head.names(), head.columns());
    notes->push_back(fmt::format("{}: {}{}{}{}", excerpt(path), head.str(reader.skipped()),
                                 found.empty() ? "" : "; ", found, spellings.note()));
  }
  return {Tensor::from(ends[0]), Tensor::from(ends[1])};
}

Tensor chosen_nodes(const std::string& option, const std::string& chosen, const Dataset& data,
                    const std::string& file, bool of_graphs, const TextFormat& format,
                    std::vector<std::string>* notes) {
  const ItemNames names(data, file, of_graphs, format.decimal);
  std::vector<int32_t> rows;
  if (!is_input(chosen)) {
    for (FieldCursor field(chosen, Separator::comma); field.next();) {
      rows.push_back(names.find(field.field()));
      if (rows.back() < 0)
        usage_fail("--{}: {}; there is no file '{}' either", option, names.unknown(field.field()),
                   excerpt(chosen));
    }
    if (rows.empty()) usage_fail("--{}: expected names or a file of them", option);
    return Tensor::from(rows);
  }
  const TextFormat text = readable(format, chosen);
  const bool table = text.input.is_table(chosen);
  TextSource source(chosen, text.input);
  const RecordFormat lines{Separator::tab, table ? 2 : 1, table ? "" : text.comment.value_or("")};
  RecordReader reader(source, lines);
  bool skipped = false;
  while (reader.next()) {
    RecordFields field(source, reader.number(), reader.record(), table ? Separator::comma : lines.separator);
    (void)field.next();
    const std::string name(field.field());
    if (field.next()) source.fail(reader.number(), "two fields, expected one name in a line");
    const int32_t row = names.find(name);
    const bool header = row < 0 && rows.empty() && !table && !skipped && is_column_name(name);
    skipped = skipped || header;
    if (header && notes != nullptr)
      notes->push_back(
          fmt::format("{}: line {} taken as header: {}", excerpt(chosen), reader.number(), excerpt(name)));
    if (header) continue;
    rows.push_back(row);
    if (row < 0) source.fail(reader.number(), "{}", names.unknown(name));
  }
  if (rows.empty()) source.fail(0, "no names, expected some");
  return Tensor::from(rows);
}

}  // namespace adj
