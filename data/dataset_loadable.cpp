#include <adjoint/core/text.h>
#include <adjoint/data/detail/dataset_reader.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/detail/item_paths.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/detail/shape_text.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace adj::detail {

namespace {

constexpr std::string_view kFinite = "finite numbers";

class Expectation {
 public:
  /// `nodes` and `edges`: of the graph, or of one to be made.
  Expectation(const Dataset& data, const std::string& path, int64_t nodes, int64_t edges,
              const ItemPaths& paths = {})
      : data_(data), path_(path), nodes_(nodes), edges_(edges), paths_(paths) {}

  void check() const {
    check_counts();
    if (data_.name.find('\0') != std::string::npos)  // HDF5 ends it there
      fail("attribute name", "a NUL byte, expected a name without one");
    check_edges();
    check_graphs();
    check_items();
  }

  /// What needs no graph either, of items of one type.
  void check_items() const {
    if (data_.x) check_features();
    check_labels();
    check_class_names();
    check_columns("nodes/x", data_.num_features(), data_.feature_names, data_.encoder);
    check_nodes();
    for (size_t k = 0; k < data_.splits.size(); ++k) check_split(k);
  }

  /// What needs no graph.
  void check_counts() const {
    if (nodes_ < 1 || nodes_ >= kLargest)
      fail("attribute num_nodes", "{}, expected 1 to {}", nodes_, kLargest - 1);
    if (edges_ >= kLargest) fail("edges/src", "{} edges, expected fewer than {}", edges_, kLargest);
    if (data_.x && data_.x.rows() != nodes_) fail("nodes/x", "{} rows, expected {}", data_.x.rows(), nodes_);
    for (const auto& [place, list, rows] : {std::tuple("nodes/y", &data_.y, nodes_),
                                            {"nodes/part", &data_.part, nodes_},
                                            {"nodes/order", &data_.order, nodes_},
                                            {"nodes/id", &data_.node_ids, nodes_},
                                            {"nodes/time", &data_.times, nodes_},
                                            {"nodes/name_offsets", &data_.node_name_offsets, nodes_ + 1},
                                            {"edges/y", &data_.edge_y, edges_}})
      if (*list && (list->dims() == 0 || list->size(0) != rows))
        fail(place, "{}, expected {} rows", list->str(), rows);
    if (!lists_nodes() && nodes_ > most_bare_nodes(edges_))
      fail("attribute num_nodes", "{}, but nothing in the dataset has that many nodes", nodes_);
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(std::string_view place, fmt::format_string<Args...> format, Args&&... args) const {
    data_fail("{}: {}: {}", excerpt(path_), paths_.place(place),
              fmt::format(format, std::forward<Args>(args)...));
  }

  bool of_graphs() const { return is_of_graphs(data_.task); }
  int64_t graphs() const { return data_.graph_offsets ? data_.graph_offsets.numel() - 1 : 0; }
  const Tensor& labels() const { return data_.labels(); }
  bool lists_nodes() const {
    return (data_.x && (data_.x.is_sparse() || data_.x.cols() > 0)) || (data_.y && data_.y.numel() > 0) ||
           data_.part || data_.order || data_.node_ids || data_.node_name_offsets || data_.times;
  }

  /// Fails at the first value for which good(value, position) is false. A GPU's are copied block by block.
  template <class T, class Good>
  void check_values(std::string_view place, const Tensor& tensor, std::string_view expected,
                    Good good) const {
    constexpr int64_t kBlock = int64_t{1} << 24;
    if (!tensor || tensor.numel() == 0) return;
    const Tensor flat = tensor.reshape({tensor.numel()});
    for (int64_t first = 0; first < flat.numel(); first += kBlock) {
      const Tensor block = flat.rows(first, std::min(first + kBlock, flat.numel())).to(dtype_of<T>());
      const Tensor host = block.to(Device::cpu());
      const T* values = host.template data<T>();
      if constexpr (std::is_same_v<T, float>)
        if (all_finite(values, host.numel()) && expected == kFinite) continue;
      for (int64_t k = 0; k < host.numel(); ++k) {
        if (good(values[k], first + k)) continue;
        const std::vector<int64_t> shape = tensor.dims() == 2
                                               ? std::vector<int64_t>{tensor.size(0), tensor.size(1)}
                                               : std::vector<int64_t>{tensor.numel()};
        fail(place, "{} at {}, expected {}", values[k], place_text(shape, first + k), expected);
      }
    }
  }
  void check_finite(std::string_view place, const Tensor& tensor) const {
    check_values<float>(place, tensor, kFinite, [](float value, int64_t) { return std::isfinite(value); });
  }
  void check_range(std::string_view place, const Tensor& tensor, int64_t begin, int64_t end) const {
    check_values<int32_t>(place, tensor, fmt::format("{} to {}", begin, end - 1),
                          [=](int32_t value, int64_t) { return value >= begin && value < end; });
  }
  /// Throws unless they ascend from 0 to `total`.
  void check_offsets(std::string_view place, const Tensor& offsets, int64_t total) const {
    if (!offsets) return;
    if (offsets.dtype() != DType::i64 || offsets.numel() < 2)
      fail(place, "{}, expected at least 2 int64 numbers", offsets.str());
    int64_t before = 0;
    check_values<int64_t>(place, offsets, "ascending numbers from 0", [&](int64_t value, int64_t k) {
      return k == 0 ? value == 0 : value >= std::exchange(before, value);
    });
    if (before != total) fail(place, "ends with {}, expected {}", before, total);
  }

  void check_features() const {
    if (data_.x.is_dense()) check_finite("nodes/x", data_.x.dense());
    if (!data_.x.is_sparse()) return;
    const SparseMatrix& x = data_.x.sparse();
    if (const int64_t most = most_sparse_columns(x.entries()); x.cols() > most)
      fail("attribute nodes@x_cols", "{} for {} entries, expected {} at most", x.cols(), x.entries(), most);
    check_finite("nodes/x_data", x.values());
  }

  void check_edges() const {
    check_finite("edges/weight", data_.graph.edge_weight());
    for (const auto& [name, attribute] : data_.graph.edge_attributes())
      if (is_floating(attribute.dtype())) check_finite("edges/" + name, attribute);
    const EdgeAttributes& attributes = data_.graph.edge_attributes();
    const auto attr = attributes.find("attr");
    check_columns("edges/attr", attr == attributes.end() ? 0 : attr->second.size(1), data_.attr_names,
                  data_.attr_encoder);
  }

  void check_graphs() const {
    if (of_graphs() && !data_.graph_offsets)
      fail("graphs/offsets", "missing, expected for task {}", name_of(data_.task));
    if (!data_.graph_offsets) return;
    check_offsets("graphs/offsets", data_.graph_offsets, nodes_);
    check_names("graphs/name", graphs(), data_.graph_names, "graph");
    const std::vector<int64_t> offsets = data_.graph_offsets.to_vector<int64_t>();
    const Csr csr = data_.graph.in_edges().to(Device::cpu());
    const int64_t* edges = csr.offsets.data<int64_t>();
    const int32_t* src = csr.indices.data<int32_t>();
    for (size_t g = 0; g + 1 < offsets.size(); ++g)
      for (int64_t dst = offsets[g]; dst < offsets[g + 1]; ++dst)
        for (int64_t e = edges[dst]; e < edges[dst + 1]; ++e)
          if (src[e] < offsets[g] || src[e] >= offsets[g + 1])
            fail("edges/dst", "an edge from node {} to node {} of graph {}, expected edges within graphs",
                 src[e], dst, g);
  }

  void check_labels() const {
    if (data_.task != Task::none && !labels())
      fail(labels_path(data_.task), "missing, expected for task {}", name_of(data_.task));
    for (const auto& [place, y, rows] : {std::tuple("nodes/y", &data_.y, nodes_),
                                         {"graphs/y", &data_.graph_y, graphs()},
                                         {"edges/y", &data_.edge_y, edges_}})
      check_labels(place, *y, rows, place == labels_path(data_.task) ? data_.task : Task::none);
    const int64_t used = !labels()                        ? 0
                         : labels().dtype() == DType::i32 ? ClassLabels(labels().to(Device::cpu())).used
                         : labels().dims() == 2           ? labels().size(1)
                                                          : 1;
    if (data_.classes > most_classes(used))
      fail("attribute num_classes", "{}, expected {} at most, as {} have a label", data_.classes,
           most_classes(used), used);
  }

  void check_labels(std::string_view place, const Tensor& y, int64_t rows, Task task) const {
    if (!y) return;
    const bool numbered = has_classes(task);
    if (y.dims() < 1 || y.dims() > (numbered ? 1 : 2) || y.size(0) != rows ||
        (task != Task::none && (y.dtype() == DType::i32) != numbered))
      fail(place, "{}, expected [{}{}] of task {}", y.str(), rows, numbered ? "] classes, int32" : ", *]",
           name_of(task));
    if (numbered) return check_range(place, y, -1, data_.classes);
    if (!is_floating(y.dtype())) return;
    const bool binary = task == Task::node_multilabel;
    check_values<float>(
        place, y, binary ? "0, 1 or nan" : "finite numbers, or nan for no label", [=](float value, int64_t) {
          return std::isnan(value) || (binary ? value == 0.0f || value == 1.0f : std::isfinite(value));
        });
  }

  void check_class_names() const {
    if (data_.class_names.empty()) return;
    const auto place = class_names_path(data_.task);
    const int64_t expected = expected_class_names(data_), count = std::ssize(data_.class_names);
    if (expected >= 0 && count != expected) fail(place, "{} names, expected {}", count, expected);
    if (const std::string problem = problem_of_names(data_.class_names); !problem.empty())
      fail(place, "{}", problem);
  }

  /// One name for each of `count` things, or none.
  void check_names(const std::string& place, int64_t count, const std::vector<std::string>& names,
                   std::string_view thing) const {
    if (names.empty()) return;
    if (std::ssize(names) != count) fail(place, "{} names, expected {}", names.size(), count);
    if (const std::string problem = problem_of_names(names, thing); !problem.empty())
      fail(place, "{}", problem);
  }

  /// Names and encoder of the columns of a dataset.
  void check_columns(const std::string& place, int64_t columns, const std::vector<std::string>& names,
                     const FeatureEncoder& encoder) const {
    check_names(place + "_names", columns, names, "column");
    if (encoder.empty()) return;
    if (const std::string problem = problem_of_encoder(encoder, columns, names); !problem.empty())
      fail(place + "_encoder", "{}", problem);
  }

  void check_nodes() const {
    if (data_.times && data_.times.dtype() != DType::i64)
      fail("nodes/time", "{}, expected int64", data_.times.str());
    check_range("nodes/part", data_.part, 0, nodes_);
    if (data_.node_names)
      check_offsets("nodes/name_offsets", data_.node_name_offsets, data_.node_names.numel());
    if (!data_.order) return;
    const std::vector<int64_t> graphs =
        data_.graph_offsets ? data_.graph_offsets.to_vector<int64_t>() : std::vector<int64_t>{0, nodes_};
    std::vector<bool> seen(static_cast<size_t>(nodes_));
    size_t g = 0;
    check_values<int32_t>("nodes/order", data_.order, "each node of a graph once",
                          [&](int32_t node, int64_t k) {
                            while (k >= graphs[g + 1]) ++g;
                            if (node < graphs[g] || node >= graphs[g + 1] || seen[static_cast<size_t>(node)])
                              return false;
                            seen[static_cast<size_t>(node)] = true;
                            return true;
                          });
  }

  void check_split(size_t k) const {
    const Split& split = data_.splits[k];
    const int64_t members = of_graphs() ? graphs() : is_of_edges(data_.task) ? edges_ : nodes_;
    const Tensor y = labels() ? labels().to(Device::cpu()) : Tensor();
    std::vector<bool> seen(static_cast<size_t>(members));
    for (const auto& [part, index] :
         {std::pair("train", &split.train), {"val", &split.val}, {"test", &split.test}}) {
      const std::string place =
          k == 0 ? fmt::format("splits/{}", part) : fmt::format("splits/{}/{}", k, part);
      const bool may_be_empty = paths_.of_edges() && data_.task == Task::none;
      if (!*index || (index->numel() == 0 && !may_be_empty))
        fail(place, "empty, expected at least one index");
      for (int32_t i : index->to_vector<int32_t>()) {
        if (i < 0 || i >= members) fail(place, "index {}, expected 0 to {}", i, members - 1);
        if (seen[static_cast<size_t>(i)]) fail(place, "index {} occurs twice, expected once in a split", i);
        seen[static_cast<size_t>(i)] = true;
        if (data_.unlabelled > 0 && y && !is_labelled(y, i)) fail(place, "index {} has no label", i);
      }
    }
  }

  const Dataset& data_;
  const std::string& path_;
  int64_t nodes_, edges_;
  ItemPaths paths_;
};

Expectation expectation(const Dataset& data, const std::string& path) {
  return {data, path, data.num_nodes(), data.graph.num_edges()};
}

}  // namespace

void expect_loadable(const Dataset& data, const std::string& path) { expectation(data, path).check(); }

void expect_loadable(const ItemTable& items, int64_t rows, int64_t edges, const ItemPaths& paths,
                     const std::string& path) {
  Dataset alone;
  static_cast<ItemTable&>(alone) = items;
  const Expectation expectation(alone, path, rows, edges, paths);
  expectation.check_counts();
  expectation.check_items();
}

}  // namespace adj::detail

namespace adj {

void check_num_nodes(const Dataset& dataset, int64_t nodes, int64_t edges) {
  detail::Expectation(dataset, dataset.name, nodes, edges).check_counts();
}

Dataset complete_dataset(Dataset dataset) {
  ADJ_CHECK(dataset.graph, "dataset {}: it has no graph", dataset.name);
  const Tensor& y = dataset.labels();
  if (y && dataset.task != Task::none) dataset.unlabelled = detail::count_unlabelled(y.to(Device::cpu()));
  detail::expect_loadable(dataset, dataset.name);
  dataset.use_first_split();
  return dataset;
}

}  // namespace adj
