#include <adjoint/core/text.h>
#include <adjoint/data/detail/dataset_reader.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/data/detail/loadable.h>
#include <adjoint/data/detail/names.h>

#include <cmath>

namespace adj::detail {

namespace {

class Expectation {
 public:
  Expectation(const Dataset& data, const std::string& path) : data_(data), path_(path) {}

  void check() const {
    if (nodes() < 1 || nodes() >= kLargest)
      fail("attribute num_nodes", "{}, expected 1 to {}", nodes(), kLargest - 1);
    const int64_t edges = data_.graph.num_edges();
    if (edges >= kLargest) fail("edges/src", "{} edges, expected fewer than {}", edges, kLargest);
    check_features();
    if (!lists_nodes() && nodes() > most_bare_nodes(edges))
      fail("attribute num_nodes", "{}, but nothing in the file has that many nodes", nodes());
    check_labels();
    check_class_names();
    for (size_t k = 0; k < data_.splits.size(); ++k) check_split(k);
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(std::string_view place, fmt::format_string<Args...> format, Args&&... args) const {
    data_fail("{}: {}: {}", excerpt(path_), place, fmt::format(format, std::forward<Args>(args)...));
  }

  int64_t nodes() const { return data_.num_nodes(); }
  bool of_graphs() const { return is_of_graphs(data_.task); }
  const Tensor& labels() const { return data_.labels(); }
  bool lists_nodes() const {
    return (data_.x && (data_.x.is_sparse() || data_.x.cols() > 0)) || (data_.y && data_.y.numel() > 0) ||
           data_.part || data_.order || data_.node_ids || data_.node_name_offsets;
  }

  void check_features() const {
    if (!data_.x) return;
    if (data_.x.rows() != nodes()) fail("nodes/x", "{} rows, expected {}", data_.x.rows(), nodes());
    if (!data_.x.is_sparse()) return;
    const SparseMatrix& x = data_.x.sparse();
    if (const int64_t most = most_sparse_columns(x.entries()); x.cols() > most)
      fail("attribute nodes@x_cols", "{} for {} entries, expected {} at most", x.cols(), x.entries(), most);
  }

  void check_labels() const {
    const std::string_view place = of_graphs() ? "graphs/y" : "nodes/y";
    if (data_.task != Task::none && !labels())
      fail(place, "missing, expected for task {}", name_of(data_.task));
    int64_t used = 0;
    if (labels() && labels().dtype() == DType::i32) {
      const ClassLabels found(labels().to(Device::cpu()));
      used = found.used;
      if (data_.task != Task::none && found.largest >= data_.classes)
        fail(place, "{} at position {}, expected -1 to {}", found.largest, found.position, data_.classes - 1);
    } else if (labels()) {
      used = labels().dims() == 2 ? labels().size(1) : 1;
    }
    if (data_.classes > most_classes(used))
      fail("attribute num_classes", "{}, expected {} at most, as {} have a label", data_.classes,
           most_classes(used), used);
  }

  void check_class_names() const {
    if (data_.class_names.empty()) return;
    const auto place = class_names_path(data_.task);
    const int64_t expected = expected_class_names(data_), count = std::ssize(data_.class_names);
    if (expected >= 0 && count != expected) fail(place, "{} names, expected {}", count, expected);
    if (const std::string problem = problem_of_names(data_.class_names); !problem.empty())
      fail(place, "{}", problem);
  }

  void check_split(size_t k) const {
    const Split& split = data_.splits[k];
    const int64_t members = of_graphs() ? data_.graph_offsets.numel() - 1 : nodes();
    const Tensor y = labels() ? labels().to(Device::cpu()) : Tensor();
    std::vector<bool> seen(static_cast<size_t>(members));
    for (const auto& [part, given] :
         {std::pair("train", &split.train), {"val", &split.val}, {"test", &split.test}}) {
      const std::string place =
          k == 0 ? fmt::format("splits/{}", part) : fmt::format("splits/{}/{}", k, part);
      if (!*given || given->numel() == 0) fail(place, "empty, expected at least one index");
      for (int32_t i : given->to_vector<int32_t>()) {
        if (i < 0 || i >= members) fail(place, "index {}, expected 0 to {}", i, members - 1);
        if (seen[static_cast<size_t>(i)]) fail(place, "index {} again, expected once in a split", i);
        seen[static_cast<size_t>(i)] = true;
        if (data_.unlabelled > 0 && y && !is_labelled(y, i)) fail(place, "index {} has no label", i);
      }
    }
  }

  const Dataset& data_;
  const std::string& path_;
};

}  // namespace

void expect_loadable(const Dataset& data, const std::string& path) { Expectation(data, path).check(); }

}  // namespace adj::detail

namespace adj {

Dataset complete_dataset(Dataset dataset) {
  ADJ_CHECK(dataset.graph, "dataset {}: it has no graph", dataset.name);
  const Tensor& y = dataset.labels();
  if (y && dataset.task != Task::none) dataset.unlabelled = detail::count_unlabelled(y.to(Device::cpu()));
  detail::expect_loadable(dataset, dataset.name);
  if (const Features& x = dataset.x; x.is_dense() && x.device().is_cpu() && x.dense().dtype() == DType::f32) {
    const float* values = x.dense().data<float>();
    for (int64_t i = 0; i < x.dense().numel(); ++i)
      if (!std::isfinite(values[i]))
        data_fail("{}: nodes/x: {} at [{}, {}], expected finite numbers", dataset.name, values[i],
                  i / x.cols(), i % x.cols());
  }
  dataset.use_first_split();
  return dataset;
}

}  // namespace adj
