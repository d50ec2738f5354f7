#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/item_names.h>
#include <adjoint/graph/order/orders.h>

namespace adj::detail {

namespace {

NodeIds::Kind kind_of(const Dataset& data, bool of_graphs, bool by_number) {
  if (by_number) return NodeIds::Kind::numbers;
  if (of_graphs) return data.graph_names.empty() ? NodeIds::Kind::numbers : NodeIds::Kind::names;
  return data.node_ids     ? NodeIds::Kind::integers
         : data.node_names ? NodeIds::Kind::names
                           : NodeIds::Kind::numbers;
}

}  // namespace

ItemNames::ItemNames(const Dataset& data, const std::string& file, bool of_graphs,
                     std::optional<Decimal> decimal, bool by_row, std::string_view hint)
    : of_graphs_(of_graphs),
      count_(of_graphs ? data.graph_offsets.numel() - 1 : data.num_nodes()),
      ids_(kind_of(data, of_graphs, by_row), decimal.value_or(Decimal::point)) {
  if (ids_.kind() == NodeIds::Kind::numbers) {
    ids_.reserve_numbers(count_);
    if (data.order && !of_graphs) rows_ = inverse_order(data.order.to(Device::cpu())).to_vector<int32_t>();
    return;
  }
  if (of_graphs) {
    for (const std::string& name : data.graph_names) ids_.add_exact(name);
    return;
  }
  std::vector<int64_t> numbers;
  PackedNames names;
  if (data.node_ids)
    numbers = data.node_ids.to_vector<int64_t>();
  else
    names = {data.node_names.to(Device::cpu()), data.node_name_offsets.to(Device::cpu())};
  for (int64_t i = 0; i < count_; ++i) {
    const int32_t row =
        data.node_ids ? ids_.add(numbers[static_cast<size_t>(i)]) : ids_.add_exact(names.text(i));
    if (row != i)
      data_fail("{}: {}: nodes {} and {} are both called '{}', expected different names to match rows by{}",
                excerpt(file), data.node_ids ? "nodes/id" : "nodes/name", row, i, excerpt(ids_.text(row)),
                hint);
  }
}

std::string ItemNames::str() const {
  if (ids_.kind() == NodeIds::Kind::numbers)
    return fmt::format("numbers of {} from 0 to {}", word(), count_ - 1);
  return ids_.kind() == NodeIds::Kind::names ? fmt::format("names, as '{}'", excerpt(ids_.text(0)))
                                             : ids_.str();
}

std::string ItemNames::unknown(std::string_view field) const {
  const std::string found = fmt::format("\"{}\" is no {}", excerpt(field), of_graphs_ ? "graph" : "node");
  if (is_code(field)) return fmt::format("{}: it begins with a zero, as codes do, expected {}", found, str());
  return count_ == 0 ? found + ", there are none" : fmt::format("{}, expected {}", found, str());
}

}  // namespace adj::detail
