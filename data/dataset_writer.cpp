#include <adjoint/data/dataset.h>
#include <adjoint/data/dataset_splits.h>
#include <adjoint/data/detail/item_paths.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/hdf5_file.h>
#include <adjoint/graph/detail/listed_edges.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace adj {

namespace {

/// Of the columns of the dataset at `path`.
void write_column_names(H5Writer& file, const std::string& path, const std::vector<std::string>& names,
                        const FeatureEncoder& encoder) {
  if (!names.empty()) detail::write_names(file, path + "_names", names);
  if (encoder.empty()) return;
  const std::string json = encoder.json();
  file.write(path + "_encoder", Tensor::from(std::vector<uint8_t>(json.begin(), json.end())));
}

/// The features, and their names and encoder.
void write_features(H5Writer& file, const ItemTable& items, const detail::ItemPaths& paths) {
  const auto place = [&](std::string_view path) { return paths.path(path); };
  const Features& x = items.x;
  if (x && !x.is_sparse()) {
    file.write(place("nodes/x"), x.to_dense().to(DType::f32));
  } else if (x) {
    const SparseMatrix& sparse = x.sparse();
    file.attribute(place("nodes"), "x_cols", sparse.cols());
    file.write(place("nodes/x_indptr"), sparse.relation().csr().offsets);
    file.write(place("nodes/x_indices"), sparse.relation().csr().indices);
    file.write(place("nodes/x_data"),
               sparse.values() ? sparse.values().to(DType::f32) : Tensor::full({sparse.entries()}, 1.0));
  }
  write_column_names(file, place("nodes/x"), items.feature_names, items.encoder);
}

void write_splits(H5Writer& file, const std::vector<Split>& splits, const detail::ItemPaths& paths = {}) {
  for (size_t k = 0; k < splits.size(); ++k) {
    const std::string group = paths.path(k == 0 ? "splits" : fmt::format("splits/{}", k));
    file.write(group + "/train", splits[k].train);
    file.write(group + "/val", splits[k].val);
    file.write(group + "/test", splits[k].test);
  }
}

/// Multilabel targets are stored as bits, unless some are missing.
Tensor stored_labels(const ItemTable& dataset) {
  if (dataset.task != Task::node_multilabel) return dataset.y;
  const std::vector<float> y = dataset.y.to(DType::f32).to_vector<float>();
  const bool missing = std::any_of(y.begin(), y.end(), [](float label) { return std::isnan(label); });
  return missing ? dataset.y : dataset.y.to(DType::u8);
}

}  // namespace

void detail::write_items(H5Writer& file, const ItemTable& items, const ItemPaths& paths) {
  const auto place = [&](std::string_view path) { return paths.path(path); };
  write_features(file, items, paths);
  if (items.y) file.write(place("nodes/y"), stored_labels(items));
  if (items.times) file.write(place("nodes/time"), items.times);
  if (items.node_ids) file.write(place("nodes/id"), items.node_ids);
  if (items.node_names) {
    file.write(place("nodes/name"), items.node_names);
    file.write(place("nodes/name_offsets"), items.node_name_offsets);
  }
  if (!items.class_names.empty()) write_names(file, place(class_names_path(items.task)), items.class_names);
  write_splits(file, items.splits, paths);
}

void save_dataset(const Dataset& dataset, const std::string& path, int gzip) {
  ADJ_CHECK(dataset.graph, "save_dataset {}: the dataset has no graph", path);
  ADJ_CHECK(!dataset.x_in_file, "save_dataset {}: the features are left in {}, expected them in memory", path,
            dataset.x_in_file.str());
  for (const auto& [name, attribute] : dataset.graph.edge_attributes())
    ADJ_CHECK((name == "attr" && attribute.dims() == 2 && attribute.dtype() == DType::f32) ||
                  (name == "time" && attribute.dims() == 1 && attribute.dtype() == DType::i64),
              "save_dataset {}: edge attribute \"{}\" {}, the schema has \"attr\", float32 [M, E], and "
              "\"time\", int64 [M]",
              path, name, attribute.str());
  detail::expect_loadable(dataset, path);
  H5Writer file(path, gzip);
  file.attribute("", "format", std::string("adjoint.graph"));
  file.attribute("", "version", int64_t{1});
  file.attribute("", "name", detail::utf8_name(dataset.name));
  file.attribute("", "num_nodes", dataset.num_nodes());
  file.attribute("", "num_classes", dataset.classes);
  file.attribute("", "task", std::string(name_of(dataset.task)));
  file.attribute("", "undirected", int64_t{dataset.undirected});

  // As in their list, whose rows users know: predictions have its order.
  const detail::ListedEdges edges = detail::listed_edges(dataset.graph);
  file.write("edges/src", edges.ends.src);
  file.write("edges/dst", edges.ends.dst);
  if (edges.weight) file.write("edges/weight", edges.weight);
  for (const auto& [name, attribute] : edges.attributes) file.write("edges/" + name, attribute);

  write_column_names(file, "edges/attr", dataset.attr_names, dataset.attr_encoder);
  ItemTable items = dataset;
  items.splits = listed_splits(dataset, dataset.splits);
  detail::write_items(file, items);
  if (dataset.edge_y)
    file.write("edges/y", edges.number ? detail::gather_edges(dataset.edge_y, edges.number) : dataset.edge_y);
  if (dataset.part) file.write("nodes/part", dataset.part);
  if (dataset.order) file.write("nodes/order", dataset.order);
  if (dataset.graph_offsets) file.write("graphs/offsets", dataset.graph_offsets);
  if (!dataset.graph_names.empty()) detail::write_names(file, "graphs/name", dataset.graph_names);
  if (dataset.graph_y) file.write("graphs/y", dataset.graph_y);
  file.commit();
}

void save_splits(const std::string& in, const std::vector<Split>& splits, const std::string& out) {
  constexpr std::string_view kParts[] = {"train", "val", "test"};
  const auto is_part = [&](const std::string& name) {
    return std::find(std::begin(kParts), std::end(kParts), name) != std::end(kParts);
  };
  std::vector<std::string> removed;
  const H5Reader before = H5Reader::open(in, {"splits/*/*"});
  for (const std::string& name : before.children("splits")) {
    const std::string path = "splits/" + name;
    if (is_part(name)) removed.push_back(path);
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::vector<std::string> parts = before.children(path);
    if (std::all_of(parts.begin(), parts.end(), is_part))
      removed.push_back(path);
    else
      for (const std::string_view part : kParts) removed.push_back(fmt::format("{}/{}", path, part));
  }
  H5Writer file(out, in);
  for (const std::string& path : removed) file.remove(path);
  write_splits(file, splits);
  file.commit();
}

}  // namespace adj

namespace adj::detail {

std::string ItemPaths::path(std::string_view path) const {
  if (group_.empty()) return std::string(path);
  if (path.empty() || path == "nodes") return group_;
  if (path == "splits" || path.starts_with("splits/")) return fmt::format("{}/{}", group_, path);
  constexpr std::string_view kNodes = "nodes/";
  if (!path.starts_with(kNodes)) return fmt::format("{}//{}", group_, path);
  std::string_view name = path.substr(kNodes.size());
  const bool attributes = edges_ && (name == "x" || name.starts_with("x_"));
  if (attributes) name.remove_prefix(1);
  return fmt::format("{}/{}{}", group_, attributes ? "attr" : "", name);
}

std::string ItemPaths::place(std::string_view place) const {
  constexpr std::string_view kAttribute = "attribute ";
  if (group_.empty()) return std::string(place);
  if (!place.starts_with(kAttribute)) return path(place);
  place.remove_prefix(kAttribute.size());
  const size_t end = place.find('@');
  const std::string_view object = end == std::string_view::npos ? "" : place.substr(0, end);
  return fmt::format("{}{}@{}", kAttribute, path(object), place.substr(end + 1));
}

}  // namespace adj::detail
