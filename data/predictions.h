#pragma once

#include <adjoint/data/dataset.h>

#include <string>
#include <vector>

namespace adj {

/// What a model says of nodes or graphs, row by row.
struct Predictions {
  Task task = Task::none;
  /// Classes: int32 [E]. Several labels: uint8 [E, T], 1 where the probability is above one half. Regression:
  /// float32 [E, T].
  Tensor prediction;
  Tensor probability;  ///< float32 [E, C] of classes, [E, T] of several labels; absent of regression
  std::vector<std::string> class_names;  ///< of classes or columns, or empty
};
/// Of a model's outputs [E, T], on any device: logits, or for regression what is predicted. On the CPU.
/// Throws unless there is a name for each column, or none.
Predictions predictions_of(Task task, const Tensor& output, std::vector<std::string> class_names = {});

/// What a model says of pairs of nodes of a dataset.
struct LinkPredictions {
  std::vector<int32_t> src, dst;
  std::vector<float> score;
  std::vector<uint8_t> label;  ///< 1: an edge joins them
};

/// Writes predictions of `data`'s nodes or graphs, by the end of `path`:
///
/// .csv: a header, then a line for each node: `node,class,probability_NAME…` for classes,
/// `node,label_NAME…,probability_NAME…` for several labels, `node,prediction_NAME…` for regression
/// (`prediction` for a single column without a name); `graph` in the place of `node` for graphs. A node is
/// called by its name or id where it has one, else by its number, and a class by its name, else by its
/// number. Quoted as RFC 4180 has it; numbers in as many digits as bring the same float32 back.
///
/// .jsonl: an object a line, of the same names.
///
/// .h5: nodes/prediction, nodes/probability (graphs/…), and names as in a dataset (data/README.md).
///
/// Rows are the nodes of `data` (the order of which is on any device); where they were reordered, as they
/// stood at first. The file appears when it is complete. Throws DataError; UsageError as
/// expect_predictions_path() does.
void write_predictions(const std::string& path, const std::string& program, const Dataset& data,
                       const Predictions& predictions);
/// Likewise `source,target,score,label`, or pairs/src, dst, score and label.
void write_predictions(const std::string& path, const std::string& program, const Dataset& data,
                       const LinkPredictions& links);
/// Throws UsageError, naming the option, unless `path` ends in .csv, .jsonl or .h5.
void expect_predictions_path(const std::string& option, const std::string& path);

}  // namespace adj
