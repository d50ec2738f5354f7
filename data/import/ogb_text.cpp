#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/edge_rows.h>
#include <adjoint/data/import/detail/ogb_raw.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/number_rows.h>

#include <algorithm>
#include <map>

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
      data_fail("{}: {}: a dataset of several types of nodes, expected one type", shown, name);
  if (is_there(folder / "data.npz")) return open_binary(folder);
  if (text_file(folder, "edge").empty())
    data_fail("{}: neither edge.csv.gz nor data.npz, expected a dataset's folder raw/", shown);
  return open_text(folder);
}

namespace {

constexpr int64_t kMostOgbLines = std::numeric_limits<int32_t>::max() - 1;

/// Name of a table in the text form.
std::string name_of_table(std::string_view table) {
  static const std::map<std::string_view, const char*> kNames = {
      {"num_nodes_list", "num-node-list"}, {"num_edges_list", "num-edge-list"}, {"edge_index", "edge"},
      {"node_feat", "node-feat"},          {"edge_feat", "edge-feat"},          {"node_label", "node-label"},
      {"graph_label", "graph-label"}};
  const auto found = kNames.find(table);
  return found == kNames.end() ? std::string(table) : found->second;
}

class Text : public Raw {
 public:
  Text(std::filesystem::path folder, std::string nodes, std::string edges)
      : folder_(std::move(folder)), nodes_(std::move(nodes)), edges_(std::move(edges)), reading_(paths()) {}

  bool has(std::string_view table) const override {
    return !text_file(folder_, name_of_table(table)).empty();
  }

  Tensor counts(std::string_view table, int64_t least) override {
    const Tensor rows = read<int64_t>(table, {.columns = 1, .least = least, .most = kMostOgbLines});
    return rows.reshape({rows.size(0)});
  }

  EdgeIndex edges(int64_t edges, int64_t most) override {
    const Tensor pairs = read<int32_t>("edge_index", {.columns = 2, .least = 0, .most = most});
    expect_rows("edge_index", pairs, edges, edges_);
    return detail::edges_of(pairs);
  }

  Tensor numbers(std::string_view table, int64_t rows, bool missing) override {
    Tensor values = read<float>(table, {.columns = missing ? columns_of(table) : 0, .missing = missing});
    expect_rows(table, values, rows,
                table.starts_with("edge_")    ? edges_
                : table.starts_with("graph_") ? nodes_ + " (a line per graph)"
                                              : nodes_);
    return values;
  }

  int64_t rows(std::string_view table) override { return lines_in(path(table)); }

  void fail_at(std::string_view table, int64_t row, const std::string& message) override {
    fail_row_with(path(table), formats_.at(std::string(table)), row, message);
  }

  void fail(std::string_view table, const std::string& message) override {
    data_fail("{}: {}", excerpt(path(table)), message);
  }

 private:
  std::vector<std::string> paths() const {
    std::vector<std::string> all;
    for (const char* table : {"edge_index", "node_feat", "edge_feat", "node_label", "graph_label"})
      all.push_back(text_file(folder_, name_of_table(table)));
    return all;
  }

  std::string path(std::string_view table) const {
    const std::string name = name_of_table(table);
    std::string found = text_file(folder_, name);
    if (found.empty() && table == "node_species") found = text_file(folder_, "species");  // in ogbn-proteins
    if (found.empty()) data_fail("{}: {}.csv.gz is missing", excerpt(folder_.string()), excerpt(name));
    return found;
  }

  /// As the package's reader: commas, no header, no comments.
  template <class T>
  Tensor read(std::string_view table, const RowFormat& format) {
    TextSource source(path(table), &reading_);
    Tensor rows = read_rows<T>(source, format);
    if (rows.size(0) == 0) source.fail(1, "empty, expected numbers");
    formats_[std::string(table)] = format;
    return rows;
  }

  /// From the first non-empty row: an empty line before it is a missing label if there is one column.
  int64_t columns_of(std::string_view table) const {
    TextSource source(path(table));
    int64_t columns = 1;
    for (std::string_view line; source.next(line);) {
      if (trimmed(line).empty()) continue;
      columns = 1 + std::count(line.begin(), line.end(), ',');
      break;
    }
    return columns;
  }

  void expect_rows(std::string_view table, const Tensor& rows, int64_t expected, std::string_view reference) {
    if (rows.size(0) == expected) return;
    fail(table, fmt::format("{} lines, expected {} as in {}", rows.size(0), expected, reference));
  }

  std::filesystem::path folder_;
  std::string nodes_, edges_;  // the files with the numbers of rows
  ReadProgress reading_;
  std::map<std::string, RowFormat> formats_;
};

}  // namespace

std::unique_ptr<Raw> open_text(const std::filesystem::path& folder, std::string nodes, std::string edges) {
  return std::make_unique<Text>(folder, std::move(nodes), std::move(edges));
}

}  // namespace adj::ogb
