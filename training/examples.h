#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/graph/splits.h>

#include <string>

namespace adj::training {

/// What labels say, which decides the loss, the metrics and the form of predictions.
enum class Labels : uint8_t {
  classes,  ///< one of several: int32 [E]
  several,  ///< each of several, yes or no: float32 [E, T]
  numbers,  ///< targets of regression: float32 [E, T]
};
/// Of a task of nodes or of graphs.
Labels labels_of(Task task);
/// Is this a task of nodes with labels?
bool is_trained(Task task);
/// Or one of graphs with labels?
bool is_of_graphs(Task task);
/// The task of this name. Throws UsageError.
Task task_named(const std::string& option, const std::string& name);
/// How many numbers a model gives for a node or graph: classes, or columns of labels.
int64_t outputs_of(const Dataset& data);
/// The metric that `wanted` asks for: where that is "auto", accuracy for classes of graphs, by which their
/// protocols go.
std::string usual_metric(const std::string& wanted, Task task);

/// What a training learns from and is measured on: things with labels, nodes for most programs, and which of
/// them are for what.
struct Examples {
  std::string things = "nodes";  ///< in sentences
  std::string task;              ///< as checkpoints have it: "node_class"
  Labels labels = Labels::classes;
  int64_t outputs = 0;  ///< numbers that a model gives for each: classes, or columns of labels
  Tensor y;             ///< by example
  int64_t unlabelled = 0;
  std::string y_place = "nodes/y";  ///< in the dataset's file
  std::vector<Split> splits;        ///< of examples' indices, one at least
  bool splits_in_file = true;       ///< or else made from the seed
  /// Splits are the folds of a cross-validation, one a run; what is validated is also what is tested.
  bool cross_validated = false;
  std::string auto_metric = "auto";        ///< what --metric auto means
  Tensor train = {}, val = {}, test = {};  ///< the split in use
  EdgeIndex pairs = {};                    ///< of links: the nodes of each

  int64_t size() const { return y.size(0); }
  void use_split(size_t k);
  /// "splits/val", "splits/3/test": what messages call a part of split `k`.
  std::string place(size_t k, const std::string& part) const;
  Examples to(Device device) const;
};

/// The nodes of a dataset read from `file`, by its labels and splits. Throws DataError where it has none, or
/// a task of other things, naming what `program` needs.
Examples node_examples(const Dataset& data, const std::string& file, const std::string& program);

}  // namespace adj::training
