#include <adjoint/data/detail/dataset_reader.h>

namespace adj {

const H5Reader::Wanted detail::kSchema = {
    "@format",      "@version",    "@name",          "@num_nodes",      "@num_classes",
    "@task",        "@undirected", "edges/src",      "edges/dst",       "edges/weight",
    "edges/attr",   "nodes/x",     "nodes/x_indptr", "nodes/x_indices", "nodes/x_data",
    "nodes@x_cols", "nodes/y",     "graphs/offsets", "graphs/y",        "splits/train",
    "splits/val",   "splits/test", "splits/*/train", "splits/*/val",    "splits/*/test"};

Dataset detail::DatasetReader::read() {
  read_header();
  check_nodes();
  read_graphs();
  read_edges();
  read_features();
  read_labels();
  read_splits();
  // Until here labels with single faults still told which nodes have none.
  if (problems_.in("nodes/y")) data_.y = {};
  if (problems_.in("graphs/y")) data_.graph_y = {};
  if (problems_.in("graphs/offsets")) data_.graph_offsets = {};
  problems_.finish();
  return std::move(data_);
}

Dataset load_dataset(const std::string& path) {
  const H5Reader file = H5Reader::open(path, detail::kSchema);
  return detail::DatasetReader(file).read();
}

Dataset load_dataset(std::span<const std::byte> image, const std::string& name) {
  const H5Reader file = H5Reader::from_image(image, name, detail::kSchema);
  return detail::DatasetReader(file).read();
}

CheckedDataset check_dataset(const std::string& path) {
  CheckedDataset checked;
  try {
    const H5Reader file = H5Reader::open(path, detail::kSchema);
    checked.data = detail::DatasetReader(file, &checked.problems).read();
  } catch (const DataError& error) {
    checked.problems.emplace_back(error.what());  // of the file as a whole
  }
  return checked;
}

}  // namespace adj
