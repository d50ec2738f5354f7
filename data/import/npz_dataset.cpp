#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/npz_fields.h>
#include <adjoint/data/import/npz_dataset.h>

#include <fmt/format.h>

namespace adj {

Dataset import_npz(const std::string& path) {
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

}  // namespace adj
