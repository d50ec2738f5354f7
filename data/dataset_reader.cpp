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
    "edges/src edges/dst edges/weight edges/attr "
    "nodes/x nodes/x_indptr nodes/x_indices nodes/x_data nodes@x_cols nodes/x_names nodes/x_names_offsets "
    "nodes/x_encoder "
    "nodes/y nodes/part nodes/order "
    "nodes/id nodes/name nodes/name_offsets nodes/class_names nodes/class_names_offsets "
    "graphs/offsets graphs/y graphs/class_names graphs/class_names_offsets "
    "splits/train splits/val splits/test splits/*/train splits/*/val splits/*/test");

Dataset detail::DatasetReader::read() {
  read_header();
  check_nodes();
  read_graphs();
  read_edges();
  read_features();
  read_feature_names();
  read_encoder();
  read_labels();
  read_class_names();
  read_nodes();
  read_splits();
  // Labels with single errors were still needed to find unlabelled nodes.
  if (problems_.in("nodes/y")) data_.y = {};
  if (problems_.in("graphs/y")) data_.graph_y = {};
  if (problems_.in("graphs/offsets")) data_.graph_offsets = {};
  if (problems_.in("nodes/part")) data_.part = {};
  if (problems_.in("nodes/order")) data_.order = {};
  if (problems_.in("nodes/name") || problems_.in("nodes/name_offsets"))
    data_.node_names = data_.node_name_offsets = {};
  problems_.finish();
  return std::move(data_);
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

Dataset load_dataset(std::span<const std::byte> image, const std::string& name) {
  const H5Reader file = H5Reader::from_image(image, name, detail::kSchema);
  return detail::DatasetReader(file).read();
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
