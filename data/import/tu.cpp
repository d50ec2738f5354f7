#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/tu_columns.h>
#include <adjoint/data/import/number_rows.h>
#include <adjoint/data/import/tu.h>
#include <adjoint/graph/transforms.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace adj {

namespace {

constexpr int64_t kMostNodes = std::numeric_limits<int32_t>::max() - 1;

/// FOLDER/NAME, the prefix of the file names.
std::string find_prefix(const std::string& folder) {
  constexpr std::string_view kEdges = "_A.txt";
  std::vector<std::string> names;
  std::error_code error;
  auto entries = std::filesystem::directory_iterator(folder, error);
  if (error) data_fail("{}: cannot be opened as a folder: {}", excerpt(folder), error.message());
  for (const auto& entry : entries)
    if (const std::string name = entry.path().filename().string();
        name.ends_with(kEdges) && name.size() > kEdges.size())
      names.push_back(name.substr(0, name.size() - kEdges.size()));
  std::sort(names.begin(), names.end());
  if (names.empty()) data_fail("{}: no file NAME_A.txt, expected one", excerpt(folder));
  if (names.size() > 1)
    data_fail("{}: several datasets, {}; expected one", excerpt(folder),
              excerpt(fmt::format("{}", fmt::join(names, ", "))));
  return (std::filesystem::path(folder) / names[0]).string();
}

class TuReader {
 public:
  TuReader(std::string prefix, const TuOptions& options)
      : prefix_(std::move(prefix)),
        options_(options),
        reading_({path("A"), path("graph_indicator"), path("graph_labels"), path("graph_attributes"),
                  path("node_labels"), path("node_attributes"), path("edge_labels"),
                  path("edge_attributes")}) {}

  Dataset read() {
    data_.name = std::filesystem::path(prefix_).filename().string();
    read_graphs();
    read_labels();
    read_edges();
    const TuColumns columns = read_columns("node", nodes_, options_.node_attributes);
    if (columns.width() > 0) data_.x = columns.features(order_);
    data_.use_first_split();
    return std::move(data_);
  }

 private:
  std::string path(std::string_view part) const { return fmt::format("{}_{}.txt", prefix_, part); }
  bool has(std::string_view part) const {
    std::error_code error;
    return std::filesystem::exists(path(part), error);
  }

  template <class T>
  Tensor read(std::string_view part, const RowFormat& format) {
    TextSource source(path(part), &reading_);
    Tensor rows = read_rows<T>(source, format);
    if (rows.size(0) == 0) source.fail(1, "empty, expected numbers");
    return rows;
  }
  /// The same; throws unless the file has `expected` lines, one for each of `of` ("graphs").
  template <class T>
  Tensor read(std::string_view part, const RowFormat& format, int64_t expected, std::string_view reference) {
    Tensor rows = read<T>(part, format);
    if (rows.size(0) != expected)
      data_fail("{}: {} lines, expected {}, one for each of the {}", excerpt(path(part)), rows.size(0),
                expected, reference);
    return rows;
  }

  /// Reads the offsets, and the node order that groups nodes by graph.
  void read_graphs() {
    graph_of_ = read<int32_t>("graph_indicator", {.columns = 1, .least = 1, .most = kMostNodes});
    nodes_ = graph_of_.numel();
    const int32_t* graph = graph_of_.data<int32_t>();
    graphs_ = *std::max_element(graph, graph + nodes_);
    if (graphs_ > nodes_) {
      const int64_t row = std::max_element(graph, graph + nodes_) - graph;
      fail_row(path("graph_indicator"), {}, row,
               "graph {} of {} nodes, expected every graph to have at least one", graphs_, nodes_);
    }
    data_.graph_offsets = Tensor::zeros({graphs_ + 1}, DType::i64);
    int64_t* offsets = data_.graph_offsets.mutable_data<int64_t>();
    for (int64_t i = 0; i < nodes_; ++i) ++offsets[graph[i]];
    for (int64_t g = 1; g <= graphs_; ++g) {
      if (offsets[g] == 0)
        data_fail("{}: no node of graph {}, expected each of 1 to {} to have one",
                  excerpt(path("graph_indicator")), g, graphs_);
      offsets[g] += offsets[g - 1];
    }
    if (std::is_sorted(graph, graph + nodes_)) return;
    order_ = Tensor::empty({nodes_}, DType::i32);
    place_ = Tensor::empty({nodes_}, DType::i32);
    std::vector<int64_t> next(offsets, offsets + graphs_);
    for (int64_t i = 0; i < nodes_; ++i) {
      const int64_t position = next[static_cast<size_t>(graph[i] - 1)]++;
      order_.mutable_data<int32_t>()[position] = static_cast<int32_t>(i);
      place_.mutable_data<int32_t>()[i] = static_cast<int32_t>(position);
    }
  }

  void read_labels() {
    if (has("graph_attributes")) {
      data_.graph_y = read<float>("graph_attributes", {}, graphs_, "graphs");
      data_.task = Task::graph_regression;
      return;
    }
    if (!has("graph_labels"))
      data_fail("{}: missing, and {} too, expected one of them", excerpt(path("graph_labels")),
                excerpt(path("graph_attributes")));
    const Tensor labels = read<int64_t>("graph_labels", {.columns = 1}, graphs_, "graphs");
    std::vector<int64_t> values = labels.to_vector<int64_t>();
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    data_.graph_y = Tensor::empty({graphs_}, DType::i32);
    for (int64_t g = 0; g < graphs_; ++g)
      data_.graph_y.mutable_data<int32_t>()[g] = static_cast<int32_t>(
          std::lower_bound(values.begin(), values.end(), labels.data<int64_t>()[g]) - values.begin());
    data_.classes = std::ssize(values);
    data_.task = Task::graph_class;
  }

  void read_edges() {
    const Tensor pairs = read<int32_t>("A", {.columns = 2, .least = 1, .most = nodes_});
    const int64_t edges = pairs.size(0);
    if (edges > kMostNodes)
      data_fail("{}: {} edges, expected at most {}", excerpt(path("A")), edges, kMostNodes);
    Tensor src = Tensor::empty({edges}, DType::i32), dst = Tensor::empty({edges}, DType::i32);
    const int32_t *pair = pairs.data<int32_t>(), *graph = graph_of_.data<int32_t>();
    for (int64_t e = 0; e < edges; ++e) {
      const int32_t source = pair[2 * e] - 1, target = pair[2 * e + 1] - 1;
      if (graph[source] != graph[target])
        fail_row(path("A"), {}, e,
                 "an edge from node {} of graph {} to node {} of graph {}, expected edges within "
                 "graphs",
                 source + 1, graph[source], target + 1, graph[target]);
      src.mutable_data<int32_t>()[e] = place_of(source);
      dst.mutable_data<int32_t>()[e] = place_of(target);
    }
    const TuColumns columns = read_columns("edge", edges, options_.edge_attributes);
    EdgeAttributes attributes;
    if (columns.width() > 0) attributes.emplace("attr", columns.dense());
    data_.graph = Graph::from_coo(nodes_, src, dst, {}, attributes);
    if (!options_.keep_edges) data_.graph = coalesce(remove_self_loops(data_.graph));
    data_.undirected = data_.graph.is_symmetric();
  }

  int32_t place_of(int32_t node) const { return place_ ? place_.data<int32_t>()[node] : node; }

  /// Reads attributes, if requested, and labels of `what`: "node" or "edge".
  TuColumns read_columns(const std::string& what, int64_t rows, bool wanted) {
    TuColumns columns(rows);
    const std::string attributes = what + "_attributes", labels = what + "_labels";
    if (has(attributes) && wanted) {
      columns.add_values(read<float>(attributes, {}, rows, what + "s"));
    } else if (has(attributes)) {
      log_info("{}: ignored without --{}-attributes", excerpt(path(attributes)), what);
    } else if (wanted) {
      data_fail("{}: missing, required by --{}-attributes", excerpt(path(attributes)), what);
    }
    if (has(labels)) columns.add_one_hot(read<int64_t>(labels, {}, rows, what + "s"), path(labels));
    return columns;
  }

  std::string prefix_;
  const TuOptions& options_;
  ReadProgress reading_;
  int64_t nodes_ = 0, graphs_ = 0;
  Tensor graph_of_;       // int32 [N, 1], from 1, in file order
  Tensor order_, place_;  // int32 [N]: line of each node, and node of each line; absent: identity
  Dataset data_;
};

}  // namespace

Dataset import_tu(const std::string& folder, const TuOptions& options) {
  return TuReader(find_prefix(folder), options).read();
}

}  // namespace adj
