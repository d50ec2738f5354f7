#pragma once

#include <adjoint/core/tensor.h>
#include <adjoint/data/feature_encoder.h>
#include <adjoint/data/file_rows.h>
#include <adjoint/graph/features.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// What a model learns: the kind of the labels, and what they belong to.
enum class Task : uint8_t {
  node_class,
  node_multilabel,
  node_regression,
  graph_class,
  graph_regression,
  edge_class,
  edge_regression,
  none
};
std::string_view name_of(Task task);
/// Whether this is a task of labelled graphs.
constexpr bool is_of_graphs(Task task) { return task == Task::graph_class || task == Task::graph_regression; }
/// Whether this is a task of labelled edges of a Dataset; those of an ItemTable are called as those of nodes.
constexpr bool is_of_edges(Task task) { return task == Task::edge_class || task == Task::edge_regression; }
/// Whether the labels are one class each.
constexpr bool has_classes(Task task) {
  return task == Task::node_class || task == Task::graph_class || task == Task::edge_class;
}
/// Whether the labels are numbers to predict.
constexpr bool has_targets(Task task) {
  return task == Task::node_regression || task == Task::graph_regression || task == Task::edge_regression;
}

/// Node indices to `train`, to validate (`val`) and to `test` (graphs or edge numbers, by the task), int32,
/// in any order, distinct; the parts are disjoint.
struct Split {
  Tensor train, val, test;

  Split to(Device device) const { return {train.to(device), val.to(device), test.to(device)}; }
};

/// Features, labels, splits and names of N items of one type: nodes, or edges by their numbers.
struct ItemTable {
  Task task = Task::none;  ///< of the labels; node_class also means classes of edges
  int64_t classes = 0;     ///< number of classes, for labels that are classes
  /// One name per class or column of y, distinct, UTF-8; or empty.
  std::vector<std::string> class_names;
  Features x;  ///< [N, F], optional
  /// One name per column of x, distinct, UTF-8; or empty.
  std::vector<std::string> feature_names;
  /// How columns of a table became those of x; or empty.
  FeatureEncoder encoder;
  /// Instead of `x`: features left in the file (LoadOptions), on whatever device the rest is.
  FileRows x_in_file;
  /// Of a joint graph of several types of nodes: by type the rows that are left in the file, and not in `x`.
  std::vector<FileRows> x_in_files;
  Tensor y;  ///< int32 [N], -1: unlabelled; or float32 [N, T] (multilabel, regression), NaN: unlabelled;
             ///< optional
  int64_t unlabelled = 0;  ///< items (or graphs or edges, by the task) without any label; in no split
  std::vector<Split> splits;
  Tensor train, val, test;  ///< the current split: splits[0] after loading, empty if there is none
  /// int64 [N], optional: integers as they were, or microseconds since 1970-01-01 UTC; kNoTime: none.
  Tensor times;
  /// Original identifiers, if not the numbers: int64 [N] ids, optional; or names, uint8, concatenated, with
  /// int64 [N + 1] offsets.
  Tensor node_ids;
  Tensor node_names, node_name_offsets;  ///< uint8 [bytes], name i from offsets[i] to offsets[i + 1]

  static constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();  ///< as NaT of NumPy

  /// Sets train, val and test.
  void use(const Split& split) { train = split.train, val = split.val, test = split.test; }
  /// F, of several types the sum of theirs; 0: none.
  int64_t num_features() const;
  ItemTable to(Device device) const;  ///< as Dataset::to()
};

}  // namespace adj
