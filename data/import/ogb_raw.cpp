#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/ogb_raw.h>

namespace adj::ogb {

namespace {

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

std::string text_file(const std::filesystem::path& folder, std::string_view name) {
  for (std::string_view suffix : {".csv.gz", ".csv"})
    if (const auto path = folder / fmt::format("{}{}", name, suffix); is_there(path)) return path.string();
  return {};
}

std::unique_ptr<Raw> Raw::open(const std::filesystem::path& folder) {
  const std::string shown = excerpt(folder.string());
  for (const char* name : {"num-node-dict.csv.gz", "triplet-type-list.csv.gz", "num_nodes_dict.npz"})
    if (is_there(folder / name))
      data_fail("{}: {}: a dataset of several kinds of nodes, expected one kind", shown, name);
  if (is_there(folder / "data.npz")) return open_binary(folder);
  if (text_file(folder, "edge").empty())
    data_fail("{}: neither edge.csv.gz nor data.npz, expected a dataset's folder raw/", shown);
  return open_text(folder);
}

}  // namespace adj::ogb
