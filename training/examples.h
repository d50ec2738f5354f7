#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/graph/splits.h>

#include <array>
#include <string>
#include <string_view>

namespace adj::training {

/// Kind of labels; decides the loss, the metrics and the format of predictions.
enum class Labels : uint8_t {
  classes,  ///< one class per example: int32 [E]
  several,  ///< multi-label, yes or no each: float32 [E, T]
  numbers,  ///< regression targets: float32 [E, T]
};
/// For a task of nodes, graphs or edges.
Labels labels_of(Task task);
/// "classes", "labels" or "targets".
std::string_view word_for_outputs(Labels labels);
/// Whether this is a task of labelled nodes.
bool is_trained(Task task);
/// Those of labelled nodes or graphs.
inline constexpr std::array kLabelledTasks{Task::node_class, Task::node_multilabel, Task::node_regression,
                                           Task::graph_class, Task::graph_regression};
/// The splits of a dataset read from `file`. Throws DataError if it has none.
const std::vector<Split>& expected_splits(const Dataset& data, const std::string& file);
/// The task of this name. Throws UsageError.
Task task_named(const std::string& option, const std::string& name);
/// Outputs of a model per node, graph or edge: classes, or columns of labels.
int64_t outputs_of(const Dataset& data);
/// The metric named by `wanted`; for "auto" accuracy for classes of graphs, as usual in their benchmarks.
std::string usual_metric(const std::string& wanted, Task task);

/// Labelled examples of a training (nodes for most programs) and their splits.
struct Examples {
  std::string things = "nodes";     ///< in messages
  std::string task;                 ///< in checkpoints: "node_class"
  Labels labels = Labels::classes;  ///< kind of `y`
  int64_t outputs = 0;              ///< model outputs per example: classes, or columns of labels
  Tensor y;                         ///< by example
  int64_t unlabelled = 0;           ///< examples without any label, in no split
  std::vector<Split> splits;        ///< of example indices, at least one
  bool splits_in_file = true;       ///< else drawn from the seed
  /// Splits are cross-validation folds, one per run; the validation examples are also the test examples.
  bool cross_validated = false;
  std::string auto_metric = "auto";        ///< metric for --metric auto
  Tensor train = {}, val = {}, test = {};  ///< the split in use
  EdgeIndex pairs = {};                    ///< for links: their node pairs

  int64_t size() const { return y.size(0); }  ///< with unlabelled ones
  void use_split(size_t k);  ///< sets train, val and test; throws adj::Error without a split `k`
  /// "splits/val", "splits/3/test": name of a part of split `k` in messages.
  std::string place(size_t k, const std::string& part) const;
  Examples to(Device device) const;  ///< a copy whose tensors are on the device
};

/// The nodes of a dataset read from `file`, with its labels and splits. Throws DataError if it has none or is
/// of another task, naming what `program` needs.
Examples node_examples(const Dataset& data, const std::string& file, const std::string& program);

}  // namespace adj::training
