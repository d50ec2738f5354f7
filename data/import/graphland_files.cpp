#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/graphland_files.h>
#include <adjoint/data/import/detail/yaml_file.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace adj::graphland {

namespace {

constexpr size_t kMostColumns = 100'000;

Info info_in(const detail::YamlFile& file) {
  const YAML::Node& root = file.root();
  file.expect_map(root, "task, target_name and others");
  const auto value = [&](const char* key) {
    const YAML::Node node = root[key];
    if (!node) file.fail(root.Mark(), "the key {} is missing", key);
    return node;
  };
  const auto scalar = [&](const char* key) {
    const YAML::Node node = value(key);
    if (!node.IsScalar() || node.Scalar().empty()) file.fail(node.Mark(), "{}: expected a text", key);
    return node.Scalar();
  };
  const auto names_at = [&](const char* key) {
    const YAML::Node node = value(key);
    std::vector<std::string> names;
    if (node.IsNull()) return names;
    if (!node.IsSequence() || node.size() > kMostColumns)
      file.fail(node.Mark(), "{}: expected a list of at most {} names", key, kMostColumns);
    for (const YAML::Node& entry : node) {
      if (!entry.IsScalar()) file.fail(entry.Mark(), "{}: expected names of columns", key);
      names.push_back(entry.Scalar());
    }
    std::vector<std::string> sorted = names;
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      file.fail(node.Mark(), "{}: {} twice", key, *twice);
    return names;
  };
  Info info;
  const std::string task = scalar("task");
  if (task == "regression") {
    info.task = Info::Kind::regression;
  } else if (task == "multiclass_classification") {
    info.task = Info::Kind::multiclass;
  } else if (task != "binary_classification") {
    file.fail(root["task"].Mark(),
              "task \"{}\", expected binary_classification, multiclass_classification or regression", task);
  }
  info.target = scalar("target_name");
  const std::vector<std::string> numerical = names_at("numerical_features_names");
  info.fraction = names_at("fraction_features_names");
  info.categorical = names_at("categorical_features_names");
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::string& name : numerical)
    if (!has(info.fraction, name)) info.numerical.push_back(name);
  for (const std::string& name : info.categorical)
    if (has(numerical, name) || has(info.fraction, name))
      file.fail(root["categorical_features_names"].Mark(), "{} is also a numerical feature", name);
  return info;
}

}  // namespace

Info read_info(const std::string& path) { return detail::with_yaml(path, info_in); }

NodeTable::NodeTable(const std::string& path, Progress& reading)
    : source_(path, &reading), reader_(source_, {.separator = Separator::comma}) {
  if (!reader_.next(true)) source_.fail(1, "empty, expected a header of columns");
  read_fields();
  header_ = fields_;
  if (header_.size() < 2) source_.fail(1, "one column, expected the node column and others");
}

/// The fields of the record.
void NodeTable::read_fields() {
  constexpr size_t kMostColumns = 1'000'000;
  size_t count = 0;
  for (RecordFields cursor(source_, reader_.number(), reader_.record(), Separator::comma); cursor.next();) {
    if (count == kMostColumns) fail_row("expected at most {} columns, found more", kMostColumns);
    if (count == fields_.size()) fields_.emplace_back();
    fields_[count++] = cursor.field();
  }
  fields_.resize(count);
}

size_t NodeTable::column(const std::string& name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (std::count(found, header_.end(), name) > 1)
    source_.fail(1, "two columns \"{}\", expected one", excerpt(name));
  if (found == header_.end() || found == header_.begin()) source_.fail(1, "no column \"{}\"", excerpt(name));
  return static_cast<size_t>(found - header_.begin());
}

std::vector<size_t> NodeTable::columns(const std::vector<std::string>& names) const {
  std::vector<size_t> all;
  for (const std::string& name : names) all.push_back(column(name));
  return all;
}

bool NodeTable::next() {
  if (!reader_.next()) return false;
  read_fields();
  if (fields_.size() != header_.size())
    fail_row("{} fields, expected {} as in the header", fields_.size(), header_.size());
  if (const auto node = integer_in(fields_[0]); !node || *node != rows_)
    fail_row("node \"{}\", expected {}: ascending from 0", excerpt(fields_[0]), rows_);
  if (++rows_ > kMost) fail_row("more than {} nodes", kMost);
  return true;
}

float NodeTable::number(size_t column) const {
  const std::string& field = fields_[column];
  if (is_missing(field)) return std::numeric_limits<float>::quiet_NaN();
  const std::optional<double> value = double_in(field);
  if (!value || std::abs(*value) > std::numeric_limits<float>::max())
    fail(column, "a finite number or nothing");
  return static_cast<float>(*value);
}

int32_t NodeTable::category(size_t column) const {
  const std::optional<double> value = double_in(fields_[column]);  // 3.0, from tools that write floats
  if (!value || *value != std::floor(*value) || std::abs(*value) > static_cast<double>(kMost))
    fail(column, "a whole number (category)");
  return static_cast<int32_t>(*value);
}

bool NodeTable::flag(size_t column) const {
  const std::string& field = fields_[column];
  if (field == "True" || field == "true" || field == "TRUE" || field == "1") return true;
  if (field == "False" || field == "false" || field == "FALSE" || field == "0") return false;
  fail(column, "True or False");
}

void NodeTable::expect_rows(int64_t nodes) const {
  if (rows_ != nodes) source_.fail(0, "{} nodes, but features.csv has {}", rows_, nodes);
}

void NodeTable::fail(size_t column, std::string_view expected) const {
  fail_row("{} \"{}\", expected {}", excerpt(header_[column]), excerpt(fields_[column]), expected);
}

}  // namespace adj::graphland
