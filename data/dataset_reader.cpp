#include <adjoint/data/detail/dataset_reader.h>

#include <algorithm>
#include <iterator>
#include <sstream>

namespace adj {

namespace {

H5Reader::Wanted words(const char* text) {
  std::istringstream all(text);
  return {std::istream_iterator<std::string>(all), {}};
}

}  // namespace

const H5Reader::Wanted detail::kSchema = words(
    "@format @version @name @num_nodes @num_classes @task @undirected "
    "edges/src edges/dst edges/weight edges/attr edges/attr_names edges/attr_names_offsets "
    "edges/attr_encoder edges/time edges/y edges/class_names edges/class_names_offsets "
    "nodes/x nodes/x_indptr nodes/x_indices nodes/x_data nodes@x_cols nodes/x_names nodes/x_names_offsets "
    "nodes/x_encoder "
    "nodes/y nodes/part nodes/order nodes/time "
    "nodes/id nodes/name nodes/name_offsets nodes/class_names nodes/class_names_offsets "
    "graphs/offsets graphs/name graphs/name_offsets graphs/y graphs/class_names graphs/class_names_offsets "
    "splits/train splits/val splits/test splits/*/train splits/*/val splits/*/test");

const H5Reader::Wanted detail::kTypedSchema = words(
    "@format @version @name "
    "nodes/*@name nodes/*@num_nodes nodes/*@num_classes nodes/*@task nodes/*@x_cols "
    "nodes/*/x nodes/*/x_indptr nodes/*/x_indices nodes/*/x_data nodes/*/x_names nodes/*/x_names_offsets "
    "nodes/*/x_encoder nodes/*/y nodes/*/time nodes/*/id nodes/*/name nodes/*/name_offsets "
    "nodes/*/class_names nodes/*/class_names_offsets "
    "nodes/*/splits/train nodes/*/splits/val nodes/*/splits/test "
    "nodes/*/splits/*/train nodes/*/splits/*/val nodes/*/splits/*/test "
    "edges/*@source edges/*@name edges/*@target edges/*@num_classes edges/*@task "
    "edges/*/src edges/*/dst edges/*/weight edges/*/attr edges/*/attr_names edges/*/attr_names_offsets "
    "edges/*/attr_encoder edges/*/y edges/*/time edges/*/class_names edges/*/class_names_offsets "
    "edges/*/splits/train edges/*/splits/val edges/*/splits/test "
    "edges/*/splits/*/train edges/*/splits/*/val edges/*/splits/*/test");

Dataset detail::DatasetReader::read() {
  read_header();
  check_nodes(count_edges());
  read_graphs();
  if (reads_rank_edges())
    read_rank_edges(*options_.ranks);
  else
    read_edges();
  read_contents();
  return std::move(data_);
}

ItemTable detail::DatasetReader::read_nodes_alone(int64_t edges) {
  typed_ = true;
  problems_.attempt("attribute num_nodes", [&] { read_num_nodes(); });
  return read_items(edges);
}

ItemTable detail::DatasetReader::read_edges_alone(int64_t count) {
  typed_ = edges_ = true;
  nodes_ = count;
  return read_items(count);
}

ItemTable detail::DatasetReader::read_items(int64_t edges) {
  if (file_.has_attribute("", "task")) problems_.attempt("attribute task", [&] { read_task(); });
  problems_.attempt("attribute num_classes", [&] { read_classes(); });
  check_nodes(edges);
  read_contents();
  return std::move(static_cast<ItemTable&>(data_));
}

void detail::DatasetReader::read_contents() {
  read_features();
  read_feature_names();
  read_encoder();
  read_labels();
  read_class_names();
  read_nodes();
  read_splits();
  number_edges(data_);
  remove_invalid();
  problems_.finish();
}

void detail::DatasetReader::remove_invalid() {
  // Labels with single errors were still needed to find unlabelled nodes.
  if (problems_.in("nodes/y")) data_.y = {};
  if (problems_.in("graphs/y")) data_.graph_y = {};
  if (problems_.in("edges/y")) data_.edge_y = {};
  if (problems_.in("graphs/offsets")) data_.graph_offsets = {};
  if (problems_.in("nodes/part")) data_.part = {};
  if (problems_.in("nodes/order")) data_.order = {};
  if (problems_.in("nodes/name") || problems_.in("nodes/name_offsets"))
    data_.node_names = data_.node_name_offsets = {};
}

Dataset detail::DatasetReader::read_encoders() {
  read_header();
  read_feature_names();
  read_encoder();
  return std::move(data_);
}

Dataset load_dataset(const std::string& path, const LoadOptions& options) {
  const H5Reader file = H5Reader::open(path, detail::kSchema);
  return detail::DatasetReader(file, nullptr, options).read();
}

Dataset load_dataset(std::span<const std::byte> image, const std::string& name, const LoadOptions& options) {
  const H5Reader file = H5Reader::from_image(image, name, detail::kSchema);
  return detail::DatasetReader(file, nullptr, options).read();
}

CheckedDataset check_dataset(const std::string& path) {
  CheckedDataset checked;
  try {
    const H5Reader file = H5Reader::open(path, detail::kSchema);
    checked.opened = true;
    checked.data = detail::DatasetReader(file, &checked.problems).read();
  } catch (const DataError& error) {
    checked.problems.emplace_back(error.what());  // concerns the entire file
  }
  return checked;
}

namespace {

/// True if `path` matches the schema's `name`, in which a part `*` is a number.
bool is_named(std::string_view path, std::string_view name) {
  const size_t star = name.find('*');
  if (star == std::string_view::npos) return path == name;
  const std::string_view before = name.substr(0, star), after = name.substr(star + 1);
  if (path.size() <= before.size() + after.size() || !path.starts_with(before) || !path.ends_with(after))
    return false;
  path.remove_prefix(before.size());
  path.remove_suffix(after.size());
  return path.find_first_not_of("0123456789") == std::string_view::npos;
}

void add_beside(const H5Reader& file, const std::string& group, std::vector<std::string>& paths) {
  for (const std::string& name : file.children(group)) {
    const std::string path = group.empty() ? name : group + "/" + name;
    if (file.is_group(path)) {
      add_beside(file, path, paths);
    } else if (std::none_of(detail::kSchema.begin(), detail::kSchema.end(),
                            [&](const std::string& known) { return is_named(path, known); })) {
      paths.push_back(path);
    }
  }
}

}  // namespace

std::vector<std::string> beside_schema(const std::string& path) {
  std::vector<std::string> paths;
  add_beside(H5Reader::open(path), "", paths);
  return paths;
}

}  // namespace adj
