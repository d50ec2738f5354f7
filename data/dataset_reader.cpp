#include <adjoint/core/parallel.h>
#include <adjoint/data/dataset.h>
#include <adjoint/data/hdf5_file.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

namespace adj {

namespace {

constexpr int64_t kVersion = 1;
constexpr int64_t kAny = -1;
constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

/// Nodes that a file may have without one value for each of them: so many, or so many an edge.
constexpr int64_t kBareNodes = 1'000'000;
constexpr int64_t kBareNodesPerEdge = 16;

/// What the schema knows; the rest of a file is not looked at.
const H5Reader::Wanted kSchema = {"@format",        "@version",
                                  "@name",          "@num_nodes",
                                  "@num_classes",   "@task",
                                  "@undirected",    "edges/src",
                                  "edges/dst",      "edges/weight",
                                  "edges/attr",     "nodes/x",
                                  "nodes/x_indptr", "nodes/x_indices",
                                  "nodes/x_data",   "nodes@x_cols",
                                  "nodes/y",        "nodes/part",
                                  "nodes/order",    "nodes/id",
                                  "nodes/name",     "nodes/name_offsets",
                                  "graphs/offsets", "graphs/y",
                                  "splits/train",   "splits/val",
                                  "splits/test",    "splits/*/train",
                                  "splits/*/val",   "splits/*/test"};

/// The two checks that every number goes through keep up with the reading: in integers of the numbers' own
/// size, without a branch, the compiler makes vectors of them, 15 times as fast as comparisons would be.
bool all_finite(const float* x, int64_t n) {
  constexpr auto kInfinity = std::bit_cast<uint32_t>(std::numeric_limits<float>::infinity());
  uint32_t bad = 0;
  for (int64_t i = 0; i < n; ++i) bad |= (std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu) >= kInfinity;
  return bad == 0;
}

/// All of them from `from` to `limit` - 1, which int32 holds.
template <class T>
bool all_within(const T* x, int64_t n, int64_t from, int64_t limit) {
  using Unsigned = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const auto shift = static_cast<Unsigned>(from), range = static_cast<Unsigned>(limit - from);
  Unsigned bad = 0;
  for (int64_t i = 0; i < n; ++i) bad |= static_cast<Unsigned>(x[i]) - shift >= range;
  return bad == 0;
}

class DatasetReader {
 public:
  explicit DatasetReader(const H5Reader& file) : file_(file) {}

  Dataset read() {
    read_header();
    check_nodes();
    read_graphs();
    read_edges();
    read_features();
    read_labels();
    read_ids();
    read_splits();
    if (file_.has("nodes/part")) data_.part = read_indices("nodes/part", nodes_, nodes_);
    read_order();
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
    if (nodes_ < 1 || nodes_ >= kLargest)
      file_.fail("attribute num_nodes", "{}, expected 1 to {}", nodes_, kLargest - 1);
    data_.task = read_task();
    data_.name = file_.has_attribute("", "name") ? file_.text("", "name")
                                                 : std::filesystem::path(file_.file()).stem().string();
    data_.undirected = file_.has_attribute("", "undirected") && file_.integer("", "undirected") != 0;
    if (data_.task == Task::node_class || data_.task == Task::graph_class ||
        file_.has_attribute("", "num_classes")) {
      data_.classes = file_.integer("", "num_classes");
      if (data_.classes < 0 || data_.classes > kLargest)
        file_.fail("attribute num_classes", "{}, expected 0 to {}", data_.classes, kLargest);
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

  /// Before anything of their number is made: a few bytes can claim as many nodes as they like.
  void check_nodes() const {
    bool counted = false;
    const auto expect = [&](const char* path, int64_t rows) {
      if (!file_.has(path)) return;
      const std::vector<int64_t>& shape = file_.shape(path);
      if (shape.empty() || shape[0] != rows)
        file_.fail(path, "shape [{}], expected {} rows", fmt::join(shape, ", "), rows);
      counted = counted || std::find(shape.begin(), shape.end(), 0) == shape.end();
    };
    expect("nodes/x", nodes_);
    expect("nodes/x_indptr", nodes_ + 1);
    expect("nodes/y", nodes_);
    expect("nodes/part", nodes_);
    expect("nodes/order", nodes_);
    expect("nodes/id", nodes_);
    expect("nodes/name_offsets", nodes_ + 1);
    const int64_t edges =
        file_.has("edges/src") && !file_.shape("edges/src").empty() ? file_.shape("edges/src")[0] : 0;
    if (!counted && nodes_ > std::max(kBareNodes, kBareNodesPerEdge * edges))
      file_.fail("attribute num_nodes", "{}, but nothing in the file is of so many nodes", nodes_);
  }

  void read_edges() {
    const Tensor src = read_indices("edges/src", kAny, nodes_), dst = read_indices("edges/dst", kAny, nodes_);
    const int64_t edges = src.numel();
    if (edges != dst.numel()) file_.fail("edges/dst", "{} edges, but edges/src has {}", dst.numel(), edges);
    if (edges >= kLargest) file_.fail("edges/src", "{} edges, expected fewer than {}", edges, kLargest);
    if (data_.graph_offsets) check_graphs_apart(src, dst);
    Tensor weight;
    if (file_.has("edges/weight")) weight = read_floats("edges/weight", {edges});
    EdgeAttributes attributes;
    if (file_.has("edges/attr")) attributes.emplace("attr", read_floats("edges/attr", {edges, kAny}));
    data_.graph = Graph::from_coo(nodes_, src, dst, weight, attributes);
  }

  void check_graphs_apart(const Tensor& src, const Tensor& dst) const {
    const auto offsets = data_.graph_offsets.to_vector<int64_t>();
    const auto graph_of = [&](int32_t node) {
      return std::upper_bound(offsets.begin(), offsets.end(), int64_t{node}) - offsets.begin() - 1;
    };
    const int32_t *from = src.data<int32_t>(), *to = dst.data<int32_t>();
    for (int64_t e = 0; e < src.numel(); ++e)
      if (graph_of(from[e]) != graph_of(to[e]))
        file_.fail("edges/dst",
                   "an edge from node {} of graph {} to node {} of graph {} at position {}, expected "
                   "edges within graphs",
                   from[e], graph_of(from[e]), to[e], graph_of(to[e]), e);
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
    if (cols < 0 || cols >= kLargest)
      file_.fail("attribute nodes@x_cols", "{}, expected 0 to {}", cols, kLargest - 1);
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
    const Tensor& y = of_graphs() ? data_.graph_y : data_.y;
    if (y && data_.task != Task::none)
      for (int64_t i = 0; i < y.size(0); ++i) data_.unlabelled += !is_labelled(y, i);
  }

  Tensor read_labels_of(const std::string& path, int64_t rows, Task task) const {
    if (task == Task::node_class || task == Task::graph_class)
      return read_indices(path, rows, data_.classes, -1);
    const std::vector<int64_t>& shape = file_.shape(path);
    if (shape.empty() || shape.size() > 2 || shape[0] != rows)
      file_.fail(path, "shape [{}], expected [{}] or [{}, *]", fmt::join(shape, ", "), rows, rows);
    const DType stored = file_.dtype(path);
    if (task == Task::none && shape.size() == 1 && !is_floating(stored))
      return read_indices(path, rows, kLargest, std::numeric_limits<int32_t>::min());
    const bool binary = task == Task::node_multilabel;
    const Tensor y = read_as<float>(path, [&](const auto* values, int64_t n, int64_t at) {
      for (int64_t k = 0; k < n; ++k) {
        const double value = static_cast<double>(values[k]);
        if (std::isnan(value)) continue;  // no label
        if (std::abs(value) > std::numeric_limits<float>::max())
          file_.fail(path, "{} at {}, expected finite numbers, or nan for no label", values[k],
                     place(shape, at + k));
        if (binary && value != 0.0 && value != 1.0)
          file_.fail(path, "label {} at {}, expected 0 or 1", values[k], place(shape, at + k));
      }
    });
    return y.reshape({rows, -1});
  }

  void read_ids() {
    if (file_.has("nodes/id")) {
      file_.expect_integers("nodes/id", {nodes_});
      data_.node_ids = read_as<int64_t>("nodes/id", [](const auto*, int64_t, int64_t) {});
    }
    if (!file_.has("nodes/name")) return;
    data_.node_names = file_.tensor("nodes/name", {DType::u8}, {kAny});
    data_.node_name_offsets =
        read_offsets("nodes/name_offsets", nodes_ + 1, data_.node_names.numel(), "the length of nodes/name");
  }

  static bool is_labelled(const Tensor& y, int64_t i) {
    if (!is_floating(y.dtype())) return y.data<int32_t>()[i] >= 0;
    const int64_t width = y.size(1);
    return std::none_of(y.data<float>() + i * width, y.data<float>() + (i + 1) * width,
                        [](float value) { return std::isnan(value); });
  }

  /// splits/1, splits/2, … follow splits/train.
  void read_splits() {
    const auto any_in = [&](const std::string& group) {
      return file_.has(group + "/train") || file_.has(group + "/val") || file_.has(group + "/test");
    };
    size_t count = any_in("splits") ? 1 : 0;
    for (const std::string& name : file_.children("splits")) {
      const bool number =
          name.size() < 7 && name[0] != '0' && name.find_first_not_of("0123456789") == std::string::npos;
      if (number && any_in("splits/" + name)) count = std::max(count, std::stoul(name) + 1);
    }
    for (size_t k = 0; k < count; ++k)
      data_.splits.push_back(read_split(k == 0 ? "splits" : fmt::format("splits/{}", k)));
    if (count > 0) return data_.use_split(0);
    // Selections of nothing: without an index a loss or metric would take every row.
    data_.train = data_.val = data_.test = Tensor::empty({0}, DType::i32);
  }

  void read_order() {
    if (!file_.has("nodes/order")) return;
    data_.order = read_indices("nodes/order", nodes_, nodes_);
    const int32_t* order = data_.order.data<int32_t>();
    std::vector<bool> seen(static_cast<size_t>(nodes_), false);
    for (int64_t i = 0; i < nodes_; ++i) {
      if (seen[static_cast<size_t>(order[i])])
        file_.fail("nodes/order", "node {} at position {} stands at another one already, expected each once",
                   order[i], i);
      seen[static_cast<size_t>(order[i])] = true;
    }
    if (!data_.graph_offsets) return;
    const std::vector<int64_t> offsets = data_.graph_offsets.to_vector<int64_t>();
    for (size_t g = 0; g + 1 < offsets.size(); ++g)
      for (int64_t i = offsets[g]; i < offsets[g + 1]; ++i)
        if (order[i] < offsets[g] || order[i] >= offsets[g + 1])
          file_.fail("nodes/order", "node {} at position {}, expected {} to {}, the nodes of graph {}",
                     order[i], i, offsets[g], offsets[g + 1] - 1, g);
  }

  Split read_split(const std::string& group) const {
    const int64_t limit = of_graphs() ? *graphs_ : nodes_;
    const Tensor& y = of_graphs() ? data_.graph_y : data_.y;
    constexpr std::string_view kParts[] = {"", "train", "val", "test"};
    std::vector<uint8_t> part_of(static_cast<size_t>(limit), 0);
    const auto read_part = [&](uint8_t part) {
      const std::string path = fmt::format("{}/{}", group, kParts[part]);
      const Tensor index =
          file_.has(path) && file_.is_bool(path) ? read_mask(path, limit) : read_indices(path, kAny, limit);
      if (index.numel() == 0) file_.fail(path, "empty, expected at least one index");
      const int32_t* values = index.data<int32_t>();
      for (int64_t k = 0; k < index.numel(); ++k) {
        uint8_t& seen = part_of[static_cast<size_t>(values[k])];
        if (seen != 0)
          file_.fail(path, "index {} at position {} stands in {} already, expected once in a split",
                     values[k], k, kParts[seen]);
        seen = part;
        if (data_.unlabelled > 0 && !is_labelled(y, values[k]))
          file_.fail(path, "index {} at position {} has no label", values[k], k);
      }
      return index;
    };
    Split split;
    split.train = read_part(1);
    split.val = read_part(2);
    split.test = read_part(3);
    return split;
  }

  /// The positions that are true, ascending.
  Tensor read_mask(const std::string& path, int64_t length) const {
    const Tensor mask = file_.tensor(path, {DType::u8}, {length});
    std::vector<int32_t> chosen;
    for (int64_t i = 0; i < length; ++i)
      if (mask.data<uint8_t>()[i] != 0) chosen.push_back(static_cast<int32_t>(i));
    return Tensor::from(chosen);
  }

  /// The dataset as T, whatever numbers it is stored as. check(values, n, position) sees it before, block by
  /// block, as it is stored.
  template <class T, class Check>
  Tensor read_as(const std::string& path, Check check) const {
    const std::vector<int64_t>& shape = file_.shape(path);
    int64_t row = 1;
    for (size_t d = 1; d < shape.size(); ++d) row *= shape[d];
    Tensor result =
        Tensor::empty(shape.size() == 2 ? Shape{shape[0], shape[1]} : Shape{shape[0]}, dtype_of<T>());
    T* const to = result.mutable_data<T>();
    const auto read_stored = [&]<class S>() {
      file_.for_blocks(path, [&](int64_t first, int64_t count) {
        const int64_t at = first * row, n = count * row;
        if constexpr (std::is_same_v<S, T>) {
          file_.rows(path, first, count, to + at);
          check(to + at, n, at);
        } else {
          std::vector<S> stored(static_cast<size_t>(n));
          file_.rows(path, first, count, stored.data());
          check(stored.data(), n, at);
          for (int64_t k = 0; k < n; ++k) to[at + k] = static_cast<T>(stored[static_cast<size_t>(k)]);
        }
      });
    };
    switch (file_.dtype(path)) {
      case DType::u8:
        read_stored.template operator()<uint8_t>();
        break;
      case DType::i32:
        read_stored.template operator()<int32_t>();
        break;
      case DType::i64:
        read_stored.template operator()<int64_t>();
        break;
      case DType::f64:
        read_stored.template operator()<double>();
        break;
      default:
        read_stored.template operator()<float>();
    }
    return result;
  }

  /// int32 [length] in [from, limit), from any integers.
  Tensor read_indices(const std::string& path, int64_t length, int64_t limit, int64_t from = 0) const {
    file_.expect_integers(path, {length});
    return read_as<int32_t>(path, [&](const auto* values, int64_t n, int64_t at) {
      if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(*values)>>)
        if (all_within(values, n, from, limit)) return;
      for (int64_t k = 0; k < n; ++k)
        if (const auto value = static_cast<int64_t>(values[k]); value < from || value >= limit)
          file_.fail(path, "{} at position {}, expected {} to {}", value, at + k, from, limit - 1);
    });
  }

  /// int64 [length], from 0 to `total`, never falling.
  Tensor read_offsets(const std::string& path, int64_t length, int64_t total,
                      const std::string& meaning) const {
    file_.expect_integers(path, {length});
    Tensor offsets = read_as<int64_t>(path, [](const auto*, int64_t, int64_t) {});
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

  /// float32 from any floating numbers, finite as such.
  Tensor read_floats(const std::string& path, std::initializer_list<int64_t> shape) const {
    file_.expect_floats(path, shape);
    return read_as<float>(path, [&](const auto* values, int64_t n, int64_t at) {
      constexpr double kMost = std::numeric_limits<float>::max();
      if constexpr (std::is_same_v<decltype(values), const float*>)
        if (all_finite(values, n)) return;
      for (int64_t k = 0; k < n; ++k)
        if (!(std::abs(static_cast<double>(values[k])) <= kMost))
          file_.fail(path, "{} at {}, expected finite numbers", values[k], place(file_.shape(path), at + k));
    });
  }

  static std::string place(const std::vector<int64_t>& shape, int64_t k) {
    if (shape.size() != 2) return fmt::format("position {}", k);
    return fmt::format("row {}, column {}", k / shape[1], k % shape[1]);
  }

  bool of_graphs() const { return data_.task == Task::graph_class || data_.task == Task::graph_regression; }

  const H5Reader& file_;
  int64_t nodes_ = 0;
  std::optional<int64_t> graphs_;
  Dataset data_;
};

}  // namespace

Dataset load_dataset(const std::string& path) { return DatasetReader(H5Reader::open(path, kSchema)).read(); }

Dataset load_dataset(std::span<const std::byte> image, const std::string& name) {
  return DatasetReader(H5Reader::from_image(image, name, kSchema)).read();
}

}  // namespace adj
