#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/chosen_nodes.h>
#include <adjoint/data/import/edge_columns.h>
#include <adjoint/data/import/node_ids.h>
#include <adjoint/data/import/table_head.h>
#include <adjoint/graph/order/orders.h>

#include <filesystem>

namespace adj {

namespace {

/// Rows of a dataset by the names that its outputs have.
class RowNames {
 public:
  RowNames(const Dataset& data, bool of_graphs)
      : thing_(of_graphs ? "graph" : "node"),
        ids_(of_graphs || !(data.node_ids || data.node_names) ? NodeIds::Kind::numbers
             : data.node_ids                                  ? NodeIds::Kind::integers
                                                              : NodeIds::Kind::names) {
    if (of_graphs)
      ids_.reserve_numbers(data.graph_offsets.numel() - 1);
    else if (data.node_ids)
      for (const int64_t id : data.node_ids.to_vector<int64_t>()) add(ids_.add(id));
    else if (data.node_names)
      add_names({data.node_names.to(Device::cpu()), data.node_name_offsets.to(Device::cpu())});
    else
      ids_.reserve_numbers(data.num_nodes());
    if (ids_.kind() == NodeIds::Kind::numbers && !of_graphs && data.order)
      row_ = inverse_order(data.order.to(Device::cpu())).to_vector<int32_t>();
  }

  /// -1: unknown.
  int32_t row(std::string_view name) const {
    const int32_t found = ids_.find(name);
    return found < 0 || row_.empty() ? found : row_[static_cast<size_t>(found)];
  }
  /// "\"zoe\", expected the name of a node: names such as ada".
  std::string unknown(std::string_view name) const {
    const std::string found = fmt::format("\"{}\" is no {}", excerpt(name), thing_);
    if (ids_.size() == 0) return fmt::format("{}, there are none", found);
    if (ids_.kind() == NodeIds::Kind::numbers)
      return fmt::format("{}, expected a number from 0 to {}", found, ids_.size() - 1);
    return fmt::format("{}, expected one of its {} such as \"{}\"", found,
                       ids_.kind() == NodeIds::Kind::names ? "names" : "ids", excerpt(ids_.text(0)));
  }

 private:
  void add(int32_t row) {
    if (row != rows_++) fail("nodes {} and {} have the same name, expected distinct ones", row, rows_ - 1);
  }
  void add_names(const detail::PackedNames& names) {
    for (int64_t i = 0; i + 1 < names.offsets.numel(); ++i) add(ids_.add(names.text(i)));
  }

  std::string_view thing_;
  NodeIds ids_;
  int32_t rows_ = 0;
  std::vector<int32_t> row_;  // by number, if the dataset was reordered
};

/// The columns of source and target, and whether the first line is a header.
EdgeColumns pair_columns(const std::string& path, const TableHead& head, const RowNames& names,
                         bool& header) {
  const std::string place = fmt::format("{}:{}", excerpt(path), head.format.first_line);
  if (head.columns() < 2) data_fail("{}: one column, expected the two nodes of a pair", place);
  const EdgeColumns named = edge_columns(head.first, {}, place);
  const auto is_node = [&](int64_t column) {
    return names.row(head.first[static_cast<size_t>(column)]) >= 0;
  };
  header = named.rule == EdgeColumns::Rule::known && !(is_node(named.source) && is_node(named.target));
  if (header) return named;
  const EdgeColumns first = edge_columns(head.columns(), {}, place);
  if (first.rule == EdgeColumns::Rule::none)
    data_fail("{}: {} columns, expected two, or a header with source and target", place, head.columns());
  return first;
}

}  // namespace

EdgeIndex read_pairs(const std::string& path, const Dataset& data, std::vector<std::string>* notes) {
  const RowNames names(data, false);
  const TableHead head = read_head(path, {}, false, [&](const TableHead&, const auto& fields) {
    return fields.size() > 1 && names.row(fields[0]) >= 0 && names.row(fields[1]) >= 0;
  });
  if (head.empty) data_fail("{}: no pairs, expected some{}", excerpt(path), head.beside_comments());
  bool header = false;
  const EdgeColumns columns = pair_columns(path, head, names, header);
  TextSource source(path);
  RecordReader reader(source, head.format);
  std::vector<int32_t> ends[2];
  while (reader.next()) {
    const int64_t line = reader.number();
    if (header && line == head.format.first_line) continue;
    int64_t column = 0;
    int32_t pair[2] = {-1, -1};
    for (RecordFields field(source, line, reader.record(), head.format.separator); field.next(); ++column) {
      if (column != columns.source && column != columns.target) continue;
      const int32_t row = names.row(field.field());
      if (row < 0) source.fail(line, "{}", names.unknown(field.field()));
      pair[column == columns.target ? 1 : 0] = row;
    }
    if (column != head.columns())
      source.fail(line, "{} fields, expected {} as in the first line", column, head.columns());
    for (size_t end = 0; end < 2; ++end) ends[end].push_back(pair[end]);
  }
  if (ends[0].empty()) source.fail(0, "no pairs after the header, expected some");
  if (notes != nullptr) {
    const std::string found = columns.str(
        header ? std::span<const std::string>(head.first) : std::span<const std::string>(), head.columns());
    notes->push_back(fmt::format("{}: {}{}{}", excerpt(path),
                                 head.str(header ? head.format.first_line : 0, reader.comments()),
                                 found.empty() ? "" : "; ", found));
  }
  return {Tensor::from(ends[0]), Tensor::from(ends[1])};
}

Tensor chosen_nodes(const std::string& option, const std::string& chosen, const Dataset& data,
                    bool of_graphs) {
  const RowNames names(data, of_graphs);
  std::vector<int32_t> rows;
  if (!std::filesystem::exists(chosen)) {
    for (FieldCursor field(chosen, Separator::comma); field.next();) {
      rows.push_back(names.row(field.field()));
      if (rows.back() < 0)
        usage_fail("--{}: {}; there is no file '{}' either", option, names.unknown(field.field()),
                   excerpt(chosen));
    }
    if (rows.empty()) usage_fail("--{}: expected names or a file of them", option);
    return Tensor::from(rows);
  }
  TextSource source(chosen);
  RecordFormat format;
  format.separator = Separator::tab;
  RecordReader reader(source, format);
  while (reader.next()) {
    RecordFields field(source, reader.number(), reader.record(), format.separator);
    (void)field.next();
    const std::string name(field.field());
    if (field.next()) source.fail(reader.number(), "two fields, expected one name in a line");
    rows.push_back(names.row(name));
    if (rows.back() < 0) source.fail(reader.number(), "{}", names.unknown(name));
  }
  if (rows.empty()) source.fail(0, "no names, expected some");
  return Tensor::from(rows);
}

}  // namespace adj
