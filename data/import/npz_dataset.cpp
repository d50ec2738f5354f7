#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/npz_fields.h>
#include <adjoint/data/import/npz_dataset.h>

#include <algorithm>

#include <fmt/ranges.h>

namespace adj {

namespace {

Dataset read(const std::string& path) {
  const NpzReader z = NpzReader::open(path);
  if (z.has("node_features") && z.has("edges")) return npz::read_heterophilous(z);
  if (z.has("adj_indptr")) return npz::read_gnn_benchmark(z);
  if (z.has("feature") && z.has("node_types")) return npz::read_reddit(z);
  if (z.has("edge_index")) return npz::read_plain(z);
  if (z.has("format") && z.has("shape"))
    data_fail(
        "{}: one sparse matrix; for Reddit, convert the file of the features, reddit_data.npz, in the same "
        "folder",
        excerpt(path));
  data_fail("{}: arrays {}, expected those of heterophilous-graphs, gnn-benchmark, Reddit, or edge_index",
            excerpt(path), excerpt(fmt::format("{}", fmt::join(z.names(), ", "))));
}

}  // namespace

Dataset import_npz(const std::string& path, std::vector<std::string>* notes) {
  Dataset data = read(path);
  if (notes == nullptr || data.task != Task::node_class) return data;
  std::vector<bool> has_nodes(static_cast<size_t>(data.classes));
  for (const int32_t label : data.y.to_vector<int32_t>())
    if (label >= 0) has_nodes[static_cast<size_t>(label)] = true;
  const int64_t absent = std::ranges::count(has_nodes, false);
  std::vector<std::string> some;
  for (size_t label = 0; label < has_nodes.size() && some.size() < 5; ++label)
    if (!has_nodes[label]) some.push_back(std::to_string(label));
  if (absent > 0)
    notes->push_back(fmt::format("{}: {} classes, as labels are numbers from 0, but no node has {}{}",
                                 excerpt(path), data.classes, fmt::join(some, ", "),
                                 absent > 5 ? fmt::format(" and {} more", absent - 5) : ""));
  return data;
}

}  // namespace adj
