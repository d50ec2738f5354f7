#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/graphland_table.h>
#include <adjoint/data/import/fields.h>

#include <cmath>
#include <limits>
#include <optional>

namespace adj::graphland {

NodeTable::NodeTable(const std::string& path, Progress& reading)
    : source_(path, &reading), table_(source_, Separator::comma) {
  if (table_.columns() < 2) source_.fail(1, "one column, expected that of the nodes and others");
}

size_t NodeTable::column(const std::string& name) const {
  const std::optional<size_t> found = table_.column(name);
  if (!found || *found == 0) source_.fail(1, "no column \"{}\"", excerpt(name));
  return *found;
}

std::vector<size_t> NodeTable::columns(const std::vector<std::string>& names) const {
  std::vector<size_t> all;
  for (const std::string& name : names) all.push_back(column(name));
  return all;
}

bool NodeTable::next() {
  if (!table_.next()) return false;
  if (const auto node = integer_in(table_.field(0)); !node || *node != rows_)
    table_.fail("node \"{}\", expected {}: ascending from 0", excerpt(table_.field(0)), rows_);
  if (++rows_ > kMost) table_.fail("more than {} nodes", kMost);
  return true;
}

float NodeTable::number(size_t column) const {
  const std::string_view field = table_.field(column);
  if (is_missing(field)) return std::numeric_limits<float>::quiet_NaN();
  const std::optional<double> value = double_in(field);
  if (!value || std::abs(*value) > std::numeric_limits<float>::max())
    fail(column, "a finite number or nothing");
  return static_cast<float>(*value);
}

int32_t NodeTable::category(size_t column) const {
  const std::optional<double> value = double_in(table_.field(column));  // 3.0, from tools that write floats
  if (!value || *value != std::floor(*value) || std::abs(*value) > static_cast<double>(kMost))
    fail(column, "a whole number, the category's");
  return static_cast<int32_t>(*value);
}

bool NodeTable::flag(size_t column) const {
  const std::string_view field = table_.field(column);
  if (field == "True" || field == "true" || field == "TRUE" || field == "1") return true;
  if (field == "False" || field == "false" || field == "FALSE" || field == "0") return false;
  fail(column, "True or False");
}

void NodeTable::expect_rows(int64_t nodes) const {
  if (rows_ != nodes) source_.fail(0, "{} nodes, but features.csv has {}", rows_, nodes);
}

void NodeTable::fail(size_t column, std::string_view expected) const {
  table_.fail("{} \"{}\", expected {}", excerpt(table_.header()[column]), excerpt(table_.field(column)),
              expected);
}

}  // namespace adj::graphland
