#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/number_rows.h>
#include <adjoint/data/import/tu.h>
#include <adjoint/graph/features.h>
#include <adjoint/graph/transforms.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace adj {

namespace {

constexpr int64_t kMostNodes = std::numeric_limits<int32_t>::max() - 1;

using Names = std::vector<std::string>;

/// The least and the greatest label of a column.
std::pair<int64_t, int64_t> label_range(const Tensor& labels, int64_t column) {
  const int64_t columns = labels.size(1);
  const int64_t* const label = labels.data<int64_t>() + column;
  std::pair range(*label, *label);
  for (int64_t i = 1; i < labels.size(0); ++i)
    range = {std::min(range.first, label[i * columns]), std::max(range.second, label[i * columns])};
  return range;
}
/// The same of names of columns, as "label=3" with `begin` "label="; 0 and 0 if there are none.
std::pair<int64_t, int64_t> label_range(const Names& names, const std::string& begin) {
  std::optional<std::pair<int64_t, int64_t>> range;
  for (const std::string& name : names)
    if (const auto label = name.starts_with(begin) ? integer_in(name.substr(begin.size())) : std::nullopt)
      range = {std::min(*label, range ? range->first : *label),
               std::max(*label, range ? range->second : *label)};
  return range.value_or(std::pair<int64_t, int64_t>());
}

/// Node or edge feature columns of a TU dataset: numbers, then one-hot labels, possibly many.
class TuColumns {
 public:
  explicit TuColumns(int64_t rows) : rows_(rows) {}

  /// float32 [rows, *].
  void add_values(const Tensor& values) {
    values_ = values;
    width_ += values.size(1);
  }
  /// int64 [rows, *]. Their range is that of the names `known`, if there are any. Throws DataError, naming
  /// `path`, if they would make too many columns.
  void add_one_hot(const Tensor& labels, const std::string& path, const Names* known) {
    labels_ = labels;
    path_ = path;
    const int64_t columns = labels.size(1);
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - 1;
    const int64_t most_columns =
        known != nullptr ? kMost
                         : std::min<int64_t>(detail::most_sparse_columns(rows_ * (width_ + columns)), kMost);
    for (int64_t l = 0; l < columns; ++l) {
      const auto [least, most] = known == nullptr ? label_range(labels, l)
                                                  : label_range(*known, numbered("label", l, columns) + "=");
      // Unsigned, since the difference of two int64 may overflow.
      const uint64_t span = static_cast<uint64_t>(most) - static_cast<uint64_t>(least);
      if (span >= static_cast<uint64_t>(most_columns - width_))
        data_fail("{}: labels from {} to {} in column {}, which make more than {} columns", excerpt(path),
                  least, most, l + 1, most_columns);
      label_columns_.push_back(width_);
      least_.push_back(least);
      most_.push_back(most);
      width_ += static_cast<int64_t>(span) + 1;
    }
  }

  int64_t width() const { return width_; }
  /// "attribute" of one column of values, else "attribute_1", …; "label=3" of the label 3, with several
  /// columns of labels "label_1=3". None for more columns than anyone names.
  std::vector<std::string> names() const {
    if (width_ > kMostNames) return {};
    std::vector<std::string> names;
    for (int64_t k = 0; k < values_width(); ++k) names.push_back(numbered("attribute", k, values_width()));
    for (size_t l = 0; l < label_columns_.size(); ++l) {
      const std::string noun = numbered("label", static_cast<int64_t>(l), std::ssize(label_columns_));
      const int64_t end = l + 1 < label_columns_.size() ? label_columns_[l + 1] : width_;
      for (int64_t k = 0; k < end - label_columns_[l]; ++k)
        names.push_back(fmt::format("{}={}", noun, least_[l] + k));
    }
    return names;
  }
  /// "; 3 labels have no column (10, 11)", or nothing.
  std::string unknown() const {
    int64_t count = 0;
    std::set<int64_t> kinds;
    for (size_t l = 0; l < least_.size(); ++l)
      for (int64_t row = 0; row < rows_; ++row)
        if (const int64_t label = label_in(row, l); label < least_[l] || label > most_[l]) {
          ++count;
          if (kinds.size() <= kShown) kinds.insert(label);
        }
    Names shown;
    for (const int64_t kind : kinds) shown.push_back(shown.size() < kShown ? std::to_string(kind) : "…");
    return count == 0 ? ""
                      : fmt::format("; {} label{} no column ({})", count, count == 1 ? " has" : "s have",
                                    fmt::join(shown, ", "));
  }
  /// float32 [rows, width()]. Throws DataError if too large for a dense matrix.
  Tensor dense() const {
    if (width_ - values_width() > kMostDenseIds)
      data_fail("{}: labels that make {} columns, expected at most {}", excerpt(path_),
                width_ - values_width(), kMostDenseIds);
    return dense({});
  }
  /// Row k of the result is row order[k] (int32 [rows]; absent: k). Sparse if there are many columns.
  Features features(const Tensor& order) const {
    return width_ > kMostDenseIds ? Features(sparse(order)) : Features(dense(order));
  }

 private:
  static constexpr int64_t kMostDenseIds = 1024, kMostNames = 1 << 20;
  static constexpr size_t kShown = 3;

  static std::string numbered(std::string_view noun, int64_t k, int64_t count) {
    return count == 1 ? std::string(noun) : fmt::format("{}_{}", noun, k + 1);
  }

  SparseMatrix sparse(const Tensor& order) const {
    const int64_t a_row = values_width() + std::ssize(label_columns_);
    Csr csr;
    csr.rows = rows_;
    csr.cols = width_;
    csr.offsets = Tensor::empty({rows_ + 1}, DType::i64);
    csr.indices = Tensor::empty({rows_ * a_row}, DType::i32);
    Tensor entries = Tensor::full({rows_ * a_row}, 1.0);
    int64_t* offsets = csr.offsets.mutable_data<int64_t>();
    int32_t* column = csr.indices.mutable_data<int32_t>();
    float* entry = entries.mutable_data<float>();
    for (int64_t k = 0; k <= rows_; ++k) offsets[k] = k * a_row;
    for (int64_t k = 0; k < rows_; ++k) {
      const int64_t row = order ? order.data<int32_t>()[k] : k;
      for (int64_t c = 0; c < values_width(); ++c, ++entry) {
        *column++ = static_cast<int32_t>(c);
        *entry = values_.data<float>()[row * values_width() + c];
      }
      for (size_t l = 0; l < label_columns_.size(); ++l, ++entry) {
        *column++ = static_cast<int32_t>(std::max(column_of(row, l), label_columns_[l]));
        *entry = column_of(row, l) < 0 ? 0.0f : 1.0f;
      }
    }
    return SparseMatrix(Relation::from_csr(std::move(csr)), std::move(entries));
  }
  Tensor dense(const Tensor& order) const {
    Tensor all = Tensor::zeros({rows_, width_});
    float* target = all.mutable_data<float>();
    for (int64_t k = 0; k < rows_; ++k, target += width_) {
      const int64_t row = order ? order.data<int32_t>()[k] : k;
      if (values_) std::copy_n(values_.data<float>() + row * values_width(), values_width(), target);
      for (size_t l = 0; l < label_columns_.size(); ++l)
        if (const int64_t column = column_of(row, l); column >= 0) target[column] = 1.0f;
    }
    return all;
  }
  int64_t label_in(int64_t row, size_t l) const {
    return labels_.data<int64_t>()[row * labels_.size(1) + static_cast<int64_t>(l)];
  }
  /// Column of the 1 of label column l of a row; -1: none.
  int64_t column_of(int64_t row, size_t l) const {
    const int64_t label = label_in(row, l);
    return label < least_[l] || label > most_[l] ? -1 : label_columns_[l] + (label - least_[l]);
  }
  int64_t values_width() const { return values_ ? values_.size(1) : 0; }

  int64_t rows_, width_ = 0;
  Tensor values_;                       // float32 [rows, *]
  Tensor labels_;                       // int64 [rows, L]
  std::vector<int64_t> least_, most_;   // range of each of its columns,
  std::vector<int64_t> label_columns_;  // and the one-hot column of the least
  std::string path_;
};

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
  TuReader(std::string prefix, const TuOptions& options, std::vector<std::string>& notes)
      : prefix_(std::move(prefix)),
        options_(options),
        notes_(notes),
        reading_({path("A"), path("graph_indicator"), path("graph_labels"), path("graph_attributes"),
                  path("node_labels"), path("node_attributes"), path("edge_labels"),
                  path("edge_attributes")}) {}

  Dataset read() {
    data_.name = std::filesystem::path(prefix_).filename().string();
    read_graphs();
    read_labels();
    read_edges();
    const TuColumns columns = read_columns("node", nodes_, options_.node_attributes,
                                           options_.like ? &options_.like->nodes : nullptr);
    if (columns.width() > 0) {
      data_.x = columns.features(order_);
      data_.feature_names = columns.names();
    }
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
    data_.node_ids = Tensor::empty({nodes_}, DType::i64);
    for (int64_t i = 0; i < nodes_; ++i)
      data_.node_ids.mutable_data<int64_t>()[i] = int64_t{order_.data<int32_t>()[i]} + 1;
  }

  void read_labels() {
    if (has("graph_attributes")) {
      data_.graph_y = read<float>("graph_attributes", {}, graphs_, "graphs");
      data_.task = Task::graph_regression;
      if (has("graph_labels"))
        notes_.push_back(
            fmt::format("{}: targets of the graphs, so that the classes in {} are left out (in a folder "
                        "without the former "
                        "they are the labels)",
                        excerpt(path("graph_attributes")), excerpt(path("graph_labels"))));
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
    if (values.front() == 0 && values.back() == data_.classes - 1) return;
    for (const int64_t value : values) data_.class_names.push_back(std::to_string(value));
  }

  void read_edges() {
    const Tensor pairs = read<int32_t>("A", {.columns = 2, .least = 1, .most = nodes_});
    const int64_t edges = pairs.size(0);
    int64_t first_loop = -1;
    if (edges > kMostNodes)
      data_fail("{}: {} edges, expected at most {}", excerpt(path("A")), edges, kMostNodes);
    Tensor src = Tensor::empty({edges}, DType::i32), dst = Tensor::empty({edges}, DType::i32);
    const int32_t *pair = pairs.data<int32_t>(), *graph = graph_of_.data<int32_t>();
    for (int64_t e = 0; e < edges; ++e) {
      const int32_t source = pair[2 * e] - 1, target = pair[2 * e + 1] - 1;
      if (graph[source] != graph[target])
        fail_row(path("A"), {}, e,
                 "an edge from node {} of graph {} to node {} of graph {}, expected edges within graphs",
                 source + 1, graph[source], target + 1, graph[target]);
      if (source == target && first_loop < 0) first_loop = e;
      src.mutable_data<int32_t>()[e] = place_of(source);
      dst.mutable_data<int32_t>()[e] = place_of(target);
    }
    const TuColumns columns = read_columns("edge", edges, options_.edge_attributes,
                                           options_.like ? &options_.like->edges : nullptr);
    EdgeAttributes attributes;
    if (columns.width() > 0) {
      attributes.emplace("attr", columns.dense());
      data_.attr_names = columns.names();
    }
    data_.graph = Graph::from_coo(nodes_, src, dst, {}, attributes);
    if (!options_.keep_edges) simplify(columns.width() > 0, first_loop);
    data_.undirected = data_.graph.is_symmetric();
  }

  /// Without self-loops and parallel edges, with a note on them.
  void simplify(bool attributed, int64_t first_loop) {
    const Graph simple = remove_self_loops(data_.graph);
    const int64_t loops = data_.graph.num_edges() - simple.num_edges();
    data_.graph = coalesce(simple);
    const int64_t merged = simple.num_edges() - data_.graph.num_edges();
    if (loops + merged > 0)
      notes_.push_back(fmt::format(
          "{}: {} self-loop{} removed{}, {} edge{} merged with equal ones{} (--keep-edges keeps "
          "them)",
          excerpt(path("A")), loops, loops == 1 ? "" : "s",
          loops > 0 ? fmt::format(", the first in line {}", line_in(path("A"), {}, first_loop)) : "", merged,
          merged == 1 ? "" : "s", merged > 0 && attributed ? ", adding their attributes" : ""));
  }

  int32_t place_of(int32_t node) const { return place_ ? place_.data<int32_t>()[node] : node; }

  /// Reads attributes, if requested, and labels of `what`: "node" or "edge"; or the columns `known`.
  TuColumns read_columns(const std::string& what, int64_t rows, bool wanted, const Names* known) {
    TuColumns columns(rows);
    if (known != nullptr && known->empty()) {
      if (has(what + "_labels"))
        notes_.push_back(fmt::format("{}: passed over, as {} has no such columns",
                                     excerpt(path(what + "_labels")), excerpt(options_.like->path)));
      return columns;
    }
    if (known != nullptr)
      wanted = std::ranges::any_of(*known, [](const auto& name) { return name.starts_with("attribute"); });
    const std::string attributes = what + "_attributes", labels = what + "_labels";
    if (has(attributes) && wanted) {
      columns.add_values(read<float>(attributes, {}, rows, what + "s"));
    } else if (has(attributes) && known == nullptr) {
      log_info("{}: ignored without --{}-attributes", excerpt(path(attributes)), what);
    } else if (wanted) {
      data_fail("{}: missing, required by {}", excerpt(path(attributes)),
                known ? excerpt(options_.like->path) : fmt::format("--{}-attributes", what));
    }
    if (has(labels)) columns.add_one_hot(read<int64_t>(labels, {}, rows, what + "s"), path(labels), known);
    if (known == nullptr) return columns;
    if (const Names names = columns.names(); names != *known)
      data_fail("{}: columns of {}s: {}; expected those of {}: {}", excerpt(prefix_), what,
                names.empty() ? "none" : detail::listed(names, 5), excerpt(options_.like->path),
                detail::listed(*known, 5));
    notes_.push_back(fmt::format("{}: columns of {}s as in {}{}", excerpt(prefix_), what,
                                 excerpt(options_.like->path), columns.unknown()));
    return columns;
  }

  std::string prefix_;
  const TuOptions& options_;
  std::vector<std::string>& notes_;
  ReadProgress reading_;
  int64_t nodes_ = 0, graphs_ = 0;
  Tensor graph_of_;       // int32 [N, 1], from 1, in file order
  Tensor order_, place_;  // int32 [N]: line of each node, and node of each line; absent: identity
  Dataset data_;
};

}  // namespace

Dataset import_tu(const std::string& folder, const TuOptions& options, std::vector<std::string>* notes) {
  std::vector<std::string> unheard;
  return TuReader(find_prefix(folder), options, notes != nullptr ? *notes : unheard).read();
}

}  // namespace adj
