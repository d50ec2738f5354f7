#include <adjoint/data/dataset.h>
#include <adjoint/data/hdf5_file.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>

namespace adj {

namespace {

constexpr auto kIndexTypes = {DType::i32, DType::i64};
constexpr int64_t kVersion = 1;
constexpr int64_t kAny = -1;

/// Of everything in the file, what the schema knows; nothing of it lies deeper than splits/1/train.
bool in_schema(std::string_view path) {
  if (std::count(path.begin(), path.end(), '/') > 2) return false;
  const std::string_view group = path.substr(0, path.find('/'));
  return group == "edges" || group == "nodes" || group == "splits" || group == "graphs";
}

class DatasetReader {
 public:
  explicit DatasetReader(const H5Reader& file) : file_(file) {}

  Dataset read() {
    read_header();
    read_edges();
    read_features();
    read_graphs();
    read_labels();
    read_splits();
    return std::move(data_);
  }

 private:
  void read_header() {
    if (const std::string format = file_.text("", "format"); format != "adjoint.graph")
      file_.fail("attribute format", "\"{}\", expected \"adjoint.graph\"", format);
    if (const int64_t version = file_.integer("", "version"); version != kVersion)
      file_.fail("attribute version", "{}, expected {}{}", version, kVersion,
                 version > kVersion ? ": written for a newer Adjoint" : "");
    nodes_ = file_.integer("", "num_nodes");
    if (nodes_ < 1 || nodes_ >= std::numeric_limits<int32_t>::max())
      file_.fail("attribute num_nodes", "{}, expected 1 to {}", nodes_,
                 std::numeric_limits<int32_t>::max() - 1);
    data_.task = read_task();
    data_.name = file_.has_attribute("", "name") ? file_.text("", "name")
                                                 : std::filesystem::path(file_.file()).stem().string();
    data_.undirected = file_.has_attribute("", "undirected") && file_.integer("", "undirected") != 0;
    if (data_.task == Task::node_class || data_.task == Task::graph_class ||
        file_.has_attribute("", "num_classes")) {
      data_.classes = file_.integer("", "num_classes");
      if (data_.classes < 0 || data_.classes > std::numeric_limits<int32_t>::max())
        file_.fail("attribute num_classes", "{}, expected 0 to {}", data_.classes,
                   std::numeric_limits<int32_t>::max());
    }
  }

  Task read_task() const {
    const std::string text = file_.text("", "task");
    for (Task task : {Task::node_class, Task::node_multilabel, Task::node_regression, Task::graph_class,
                      Task::graph_regression, Task::none})
      if (text == name_of(task)) return task;
    file_.fail("attribute task",
               "\"{}\", expected node_class, node_multilabel, node_regression, graph_class, "
               "graph_regression or none",
               text);
  }

  void read_edges() {
    const Tensor src = read_indices("edges/src", kAny, nodes_), dst = read_indices("edges/dst", kAny, nodes_);
    const int64_t edges = src.numel();
    if (edges != dst.numel()) file_.fail("edges/dst", "{} edges, but edges/src has {}", dst.numel(), edges);
    if (edges >= std::numeric_limits<int32_t>::max())
      file_.fail("edges/src", "{} edges, expected fewer than {}", edges, std::numeric_limits<int32_t>::max());
    Tensor weight;
    if (file_.has("edges/weight")) weight = read_floats("edges/weight", {edges});
    EdgeAttributes attributes;
    if (file_.has("edges/attr")) attributes.emplace("attr", read_floats("edges/attr", {edges, kAny}));
    data_.graph = Graph::from_coo(nodes_, src, dst, weight, attributes);
  }

  void read_features() {
    const bool sparse =
        file_.has("nodes/x_indptr") || file_.has("nodes/x_indices") || file_.has("nodes/x_data");
    if (sparse && file_.has("nodes/x"))
      file_.fail("nodes", "both x and x_indptr, expected one kind of features");
    if (sparse) data_.x = read_sparse_features();
    if (file_.has("nodes/x")) data_.x = Features(read_floats("nodes/x", {nodes_, kAny}));
  }

  SparseMatrix read_sparse_features() const {
    const int64_t cols = file_.integer("nodes", "x_cols");
    if (cols < 0 || cols > std::numeric_limits<int32_t>::max())
      file_.fail("attribute nodes@x_cols", "{}, expected 0 to {}", cols, std::numeric_limits<int32_t>::max());
    const Tensor indices = read_indices("nodes/x_indices", kAny, cols);
    const int64_t entries = indices.numel();
    Csr csr;
    csr.rows = nodes_;
    csr.cols = cols;
    csr.offsets = read_offsets("nodes/x_indptr", nodes_ + 1, entries, "the length of nodes/x_indices");
    csr.indices = indices;
    Tensor values = read_floats("nodes/x_data", {entries});
    sort_rows(csr, values);
    return SparseMatrix(Relation::from_csr(std::move(csr)), std::move(values));
  }

  static void sort_rows(Csr& csr, Tensor& values) {
    const int64_t* offsets = csr.offsets.data<int64_t>();
    int32_t* columns = csr.indices.mutable_data<int32_t>();
    float* x = values.mutable_data<float>();
    std::vector<std::pair<int32_t, float>> row;
    for (int64_t i = 0; i < csr.rows; ++i) {
      if (std::is_sorted(columns + offsets[i], columns + offsets[i + 1])) continue;
      row.clear();
      for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e) row.emplace_back(columns[e], x[e]);
      std::stable_sort(row.begin(), row.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t k = 0; k < row.size(); ++k)
        std::tie(columns[offsets[i] + static_cast<int64_t>(k)], x[offsets[i] + static_cast<int64_t>(k)]) =
            row[k];
    }
  }

  void read_graphs() {
    if (!file_.has("graphs/offsets")) {
      if (of_graphs()) file_.fail("graphs/offsets", "missing, expected for task {}", name_of(data_.task));
      return;
    }
    data_.graph_offsets = read_offsets("graphs/offsets", kAny, nodes_, "the number of nodes");
    graphs_ = data_.graph_offsets.numel() - 1;
  }

  void read_labels() {
    const std::string wanted = of_graphs() ? "graphs/y" : "nodes/y";
    if (data_.task != Task::none && !file_.has(wanted))
      file_.fail(wanted, "missing, expected for task {}", name_of(data_.task));
    if (file_.has("nodes/y"))
      data_.y = read_labels_of("nodes/y", nodes_, of_graphs() ? Task::none : data_.task);
    if (file_.has("graphs/y") && graphs_)
      data_.graph_y = read_labels_of("graphs/y", *graphs_, of_graphs() ? data_.task : Task::none);
  }

  Tensor read_labels_of(const std::string& path, int64_t rows, Task task) const {
    if (task == Task::node_class || task == Task::graph_class) return read_indices(path, rows, data_.classes);
    const std::vector<int64_t>& shape = file_.shape(path);
    if (shape.empty() || shape.size() > 2 || shape[0] != rows)
      file_.fail(path, "shape [{}], expected [{}] or [{}, *]", fmt::join(shape, ", "), rows, rows);
    Tensor y = file_.tensor(path, {DType::u8, DType::i32, DType::i64, DType::f32});
    if (task == Task::none && shape.size() == 1 && !is_floating(y.dtype())) return y.to(DType::i32);
    if (y.dtype() != DType::u8 && y.dtype() != DType::f32)
      file_.fail(path, "{}, expected uint8 or float32", name_of(y.dtype()));
    y = y.to(DType::f32).reshape({rows, -1});
    check_finite(path, y);
    if (task == Task::node_multilabel) check_binary(path, y);
    return y;
  }

  void read_splits() {
    if (!file_.has("splits")) return;
    size_t count = 1;
    for (const std::string& name : file_.children("splits"))
      count += file_.is_group("splits/" + name) ? 1 : 0;
    for (size_t k = 0; k < count; ++k)
      data_.splits.push_back(read_split(k == 0 ? "splits" : fmt::format("splits/{}", k)));
    data_.use_split(0);
  }

  Split read_split(const std::string& group) const {
    const int64_t limit = of_graphs() ? *graphs_ : nodes_;
    constexpr std::string_view kParts[] = {"", "train", "val", "test"};
    std::vector<uint8_t> part_of(static_cast<size_t>(limit), 0);
    const auto read_part = [&](uint8_t part) {
      const std::string path = fmt::format("{}/{}", group, kParts[part]);
      const Tensor index = read_indices(path, kAny, limit);
      if (index.numel() == 0) file_.fail(path, "empty, expected at least one index");
      const int32_t* values = index.data<int32_t>();
      for (int64_t k = 0; k < index.numel(); ++k) {
        uint8_t& seen = part_of[static_cast<size_t>(values[k])];
        if (seen != 0)
          file_.fail(path, "index {} at position {} stands in {} already, expected once in a split",
                     values[k], k, kParts[seen]);
        seen = part;
      }
      return index;
    };
    Split split;
    split.train = read_part(1);
    split.val = read_part(2);
    split.test = read_part(3);
    return split;
  }

  /// int32 [length] in [0, limit), from any integers.
  Tensor read_indices(const std::string& path, int64_t length, int64_t limit) const {
    const Tensor index = file_.tensor(path, kIndexTypes, {length});
    if (index.dtype() == DType::i32) {
      check_range<int32_t>(path, index, limit);
    } else {
      check_range<int64_t>(path, index, limit);
    }
    return index.to(DType::i32);
  }

  template <class T>
  void check_range(const std::string& path, const Tensor& index, int64_t limit) const {
    const T* values = index.data<T>();
    for (int64_t k = 0; k < index.numel(); ++k)
      if (values[k] < 0 || values[k] >= limit)
        file_.fail(path, "{} at position {}, expected 0 to {}", values[k], k, limit - 1);
  }

  /// int64 [length], from 0 to `total`, never falling.
  Tensor read_offsets(const std::string& path, int64_t length, int64_t total,
                      const std::string& meaning) const {
    Tensor offsets = file_.tensor(path, kIndexTypes, {length}).to(DType::i64);
    const int64_t n = offsets.numel();
    if (n < 2) file_.fail(path, "{} numbers, expected at least 2", n);
    const int64_t* values = offsets.data<int64_t>();
    if (values[0] != 0) file_.fail(path, "starts with {}, expected 0", values[0]);
    for (int64_t k = 1; k < n; ++k)
      if (values[k] < values[k - 1])
        file_.fail(path, "falls from {} to {} at position {}, expected ascending numbers", values[k - 1],
                   values[k], k);
    if (values[n - 1] != total)
      file_.fail(path, "ends with {}, expected {}, {}", values[n - 1], total, meaning);
    return offsets;
  }

  Tensor read_floats(const std::string& path, std::initializer_list<int64_t> shape) const {
    Tensor values = file_.tensor(path, {DType::f32}, shape);
    check_finite(path, values);
    return values;
  }

  void check_finite(const std::string& path, const Tensor& tensor) const {
    const float* values = tensor.data<float>();
    for (int64_t k = 0; k < tensor.numel(); ++k)
      if (!std::isfinite(values[k]))
        file_.fail(path, "{} at {}, expected finite numbers", values[k], place(tensor, k));
  }

  void check_binary(const std::string& path, const Tensor& tensor) const {
    const float* values = tensor.data<float>();
    for (int64_t k = 0; k < tensor.numel(); ++k)
      if (values[k] != 0.0f && values[k] != 1.0f)
        file_.fail(path, "label {} at {}, expected 0 or 1", values[k], place(tensor, k));
  }

  static std::string place(const Tensor& tensor, int64_t k) {
    if (tensor.dims() != 2) return fmt::format("position {}", k);
    return fmt::format("row {}, column {}", k / tensor.size(1), k % tensor.size(1));
  }

  bool of_graphs() const { return data_.task == Task::graph_class || data_.task == Task::graph_regression; }

  const H5Reader& file_;
  int64_t nodes_ = 0;
  std::optional<int64_t> graphs_;
  Dataset data_;
};

}  // namespace

Dataset load_dataset(const std::string& path) {
  return DatasetReader(H5Reader::open(path, in_schema)).read();
}

Dataset load_dataset(std::span<const std::byte> image, const std::string& name) {
  return DatasetReader(H5Reader::from_image(image, name, in_schema)).read();
}

}  // namespace adj
