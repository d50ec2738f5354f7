#include <adjoint/core/allocator.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/import/detail/edge_rows.h>
#include <adjoint/data/import/detail/ogb_raw.h>
#include <adjoint/kernels/index/gather.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace adj {

namespace {

constexpr int64_t kMostOgbNodes = std::numeric_limits<int32_t>::max() - 1;

/// int64 [G + 1].
Tensor offsets_of(const Tensor& counts) {
  Tensor offsets = Tensor::empty({counts.numel() + 1}, DType::i64);
  int64_t* target = offsets.mutable_data<int64_t>();
  target[0] = 0;
  std::partial_sum(counts.data<int64_t>(), counts.data<int64_t>() + counts.numel(), target + 1);
  return offsets;
}

int64_t last_of(const Tensor& offsets) { return offsets.data<int64_t>()[offsets.numel() - 1]; }

class OgbReader {
 public:
  OgbReader(ogb::Raw& raw, const OgbOptions& options) : raw_(raw), options_(options) {}

  /// Reads in the order with the lowest peak memory: edges and the graph first, then the large node and edge
  /// data.
  Dataset read(const std::filesystem::path& split) {
    count();
    read_labels();
    make_graph();
    empty_cache(Device::cpu());  // of the edge list
    read_edge_features();
    empty_cache(Device::cpu());
    read_node_features();
    ogb::set_split(data_, split, options_);
    return std::move(data_);
  }

 private:
  void count() {
    const Tensor nodes = raw_.counts("num_nodes_list", 1), edges = raw_.counts("num_edges_list", 0);
    if (nodes.numel() != edges.numel())
      raw_.fail("num_edges_list",
                fmt::format("{} graphs, but num_nodes_list has {}", edges.numel(), nodes.numel()));
    offsets_ = offsets_of(nodes);
    edge_offsets_ = offsets_of(edges);
    most_nodes_ = *std::max_element(nodes.data<int64_t>(), nodes.data<int64_t>() + nodes.numel());
    if (last_of(offsets_) > kMostOgbNodes)
      raw_.fail("num_nodes_list",
                fmt::format("{} nodes, expected at most {}", last_of(offsets_), kMostOgbNodes));
    const int64_t all = last_of(edge_offsets_) * (options_.inverse_edges ? 2 : 1);
    if (all > kMostOgbNodes)
      raw_.fail("num_edges_list",
                fmt::format("{} edges{}, expected at most {}", all,
                            options_.inverse_edges ? " with their inverse" : "", kMostOgbNodes));
  }

  int64_t graphs() const { return offsets_.numel() - 1; }
  int64_t nodes() const { return last_of(offsets_); }
  int64_t edges() const { return last_of(edge_offsets_); }

  /// Before any allocation of that size: a few bytes can declare any number of nodes.
  void read_labels() {
    const bool of_nodes = raw_.has("node_label"), of_graphs = raw_.has("graph_label");
    if (of_nodes && of_graphs)
      raw_.fail("graph_label", "in addition to node labels, expected one kind of labels");
    if (!of_nodes && !of_graphs)
      raw_.fail("edge_index", "expected node-label or graph-label in the same folder");
    if (of_nodes && graphs() != 1)
      raw_.fail("num_nodes_list",
                fmt::format("{} graphs, expected one graph if nodes have labels", graphs()));
    if (of_graphs && nodes() > detail::most_bare_nodes(edges()) &&
        (!raw_.has("node_feat") || raw_.rows("node_feat") < nodes()))
      raw_.fail("num_nodes_list", fmt::format("{} nodes, but nothing has that many", nodes()));
    ogb::set_labels(data_, raw_, of_nodes ? "node_label" : "graph_label", of_nodes ? nodes() : graphs(),
                    options_);
    if (of_graphs) data_.graph_offsets = offsets_;
  }

  /// Converts to node numbers over all graphs.
  void shift(EdgeIndex& list) {
    if (graphs() == 1) return;
    const int64_t *first_node = offsets_.data<int64_t>(), *first_edge = edge_offsets_.data<int64_t>();
    int32_t *src = list.src.mutable_data<int32_t>(), *dst = list.dst.mutable_data<int32_t>();
    for (int64_t g = 0; g < graphs(); ++g) {
      const auto first = static_cast<int32_t>(first_node[g]);
      const int64_t size = first_node[g + 1] - first_node[g];
      for (int64_t e = first_edge[g]; e < first_edge[g + 1]; ++e) {
        if (src[e] >= size || dst[e] >= size)
          raw_.fail_at(
              "edge_index", e,
              fmt::format("node {} in graph {}, expected 0 to {}", std::max(src[e], dst[e]), g, size - 1));
        src[e] += first;
        dst[e] += first;
      }
    }
  }

  /// Edge e becomes 2e, and its inverse 2e + 1.
  static EdgeIndex with_inverse(const EdgeIndex& list) {
    const int64_t edges = list.src.numel();
    EdgeIndex both{Tensor::empty({2 * edges}, DType::i32), Tensor::empty({2 * edges}, DType::i32)};
    const int32_t *src = list.src.data<int32_t>(), *dst = list.dst.data<int32_t>();
    int32_t *source = both.src.mutable_data<int32_t>(), *target = both.dst.mutable_data<int32_t>();
    for (int64_t e = 0; e < edges; ++e) {
      source[2 * e] = target[2 * e + 1] = src[e];
      target[2 * e] = source[2 * e + 1] = dst[e];
    }
    return both;
  }

  /// Sorted; sets order_ if edges have features, which need it.
  Csr sorted(EdgeIndex list) {
    if (!raw_.has("edge_feat")) return detail::edge_rows(nodes(), list, options_.inverse_edges);
    if (options_.inverse_edges) list = with_inverse(list);
    auto [csr, order] = detail::sorted_edges(nodes(), nodes(), list);
    order_ = std::move(order);
    return csr;
  }

  void make_graph() {
    EdgeIndex list = raw_.edges(edges(), most_nodes_ - 1);
    shift(list);
    Csr csr = sorted(std::move(list));
    // The transpose made for this check is not kept.
    data_.undirected = options_.inverse_edges || Relation::from_csr(csr).symmetric();
    relation_ = Relation::from_csr(std::move(csr), data_.undirected);
  }

  void read_edge_features() {
    EdgeAttributes attributes;
    if (order_) {
      // The line of each edge of the graph.
      if (options_.inverse_edges) {
        int32_t* line = order_.mutable_data<int32_t>();
        for (int64_t e = 0; e < order_.numel(); ++e) line[e] /= 2;
      }
      attributes.emplace("attr", detail::gather_edges(raw_.numbers("edge_feat", edges(), false), order_));
      order_ = {};
    }
    data_.graph = Graph(relation_, {}, std::move(attributes));
  }

  void read_node_features() {
    std::vector<Tensor> tables;
    if (raw_.has("node_feat")) tables.push_back(raw_.numbers("node_feat", nodes(), false));
    for (const std::string& name : options_.node_tables) {
      ogb::expect_node_table(name);
      tables.push_back(raw_.numbers(name, nodes(), false));
    }
    if (!tables.empty()) data_.x = Features(ogb::joined_columns(std::move(tables)));
  }

  ogb::Raw& raw_;
  const OgbOptions& options_;
  Tensor offsets_, edge_offsets_;  // per graph, in nodes and in edge lines
  int64_t most_nodes_ = 0;         // in one graph
  Relation relation_;
  Tensor order_;  // int32 [M]: list position of each edge of relation_
  Dataset data_;
};

}  // namespace

void ogb::expect_node_table(const std::string& name) {
  if (!name.starts_with("node_") || name == "node_feat" || name == "node_label" ||
      name.find('/') != std::string::npos)
    usage_fail("--node-tables {}: expected names like node_year", excerpt(name));
}

std::filesystem::path ogb::root_of(const std::string& folder) {
  std::error_code error;
  std::filesystem::path root = std::filesystem::canonical(folder, error);
  if (error) data_fail("{}: cannot be opened: {}", excerpt(folder), error.message());
  if (!std::filesystem::is_directory(root, error))
    data_fail("{}: not a folder, expected the one that holds raw/ and split/", excerpt(folder));
  if (!std::filesystem::is_directory(root / "raw", error) && root.filename() == "raw")
    root = root.parent_path();
  return root;
}

std::filesystem::path ogb::raw_folder(const std::filesystem::path& root) {
  std::error_code error;
  return std::filesystem::is_directory(root / "raw", error) ? root / "raw" : root;
}

Tensor ogb::joined_columns(std::vector<Tensor> tables) {
  if (tables.size() == 1) return std::move(tables[0]);
  int64_t width = 0;
  for (const Tensor& table : tables) width += table.size(1);
  Tensor all = Tensor::empty({tables[0].size(0), width});
  kernels::concat_columns({.parts = tables, .y = all});
  return all;
}

Dataset import_ogb(const std::string& folder, const OgbOptions& options) {
  const std::filesystem::path root = ogb::root_of(folder);
  const std::unique_ptr<ogb::Raw> raw = ogb::Raw::open(ogb::raw_folder(root));
  Dataset data = OgbReader(*raw, options).read(root / "split");
  data.name = root.filename().string();
  return data;
}

}  // namespace adj
