#pragma once

#include <adjoint/data/dataset.h>

#include <string>
#include <vector>

namespace adj {

/// Predictions of a model for nodes, graphs or edges, one row each.
struct Predictions {
  Task task = Task::none;  ///< says what `prediction` has
  /// Classes: int32 [E]. Multilabel: uint8 [E, T], 1 for probability above one half. Regression: float32 [E,
  /// T].
  Tensor prediction;
  Tensor probability;  ///< float32 [E, C] for classes, [E, T] for multilabel; absent for regression
  /// The logits, float32 as probability. Metrics by rank need them, since probabilities round to 0 and 1.
  Tensor score;
  std::vector<std::string> class_names;  ///< of classes or columns; may be empty
};
/// From a model's outputs [E, T], on any device: logits, or predictions for regression. The result is on the
/// CPU. Throws unless there is one name per column, or none.
Predictions predictions_of(Task task, const Tensor& output, std::vector<std::string> class_names = {});

/// Predictions for node pairs of a dataset.
struct LinkPredictions {
  std::vector<int32_t> src, dst;  ///< numbers of nodes of the dataset, by pair
  std::vector<float> score;       ///< logits
  std::vector<uint8_t> label;     ///< 1 if there is an edge; empty: unknown, and probabilities are written
};

/// Attention coefficients of a model's layers.
struct AttentionWeights {
  /// int32 [M] each: edges of the graph, and the self-loops that layers add, which take the place of a node's
  /// own.
  EdgeIndex edges;
  /// float32 [M, heads] of each layer: of the in-edges of a node they add up to 1.
  std::vector<Tensor> layers;
};

/// Writes predictions for the nodes, graphs or edges of `data`, by the extension of `path`:
///
/// .csv: a header, then one line per node: `node,class,probability_NAME…,score_NAME…` for classes,
/// `node,label_NAME…,probability_NAME…,score_NAME…` for multilabel, `node,prediction_NAME…` for regression
/// (`prediction` for a single unnamed column); `graph` instead of `node` for graphs, `source,target` for
/// edges. Nodes and graphs are given by name or id if there is one, else by number, and classes by name, else
/// by number.
/// Quoted by RFC 4180; numbers have as many digits as round-trip float32.
///
/// .jsonl: one object per line, with the same names.
///
/// .h5: nodes/prediction, nodes/probability, nodes/score (graphs/…, edges/… with edges/src and edges/dst),
/// and names as in a dataset (data/README.md).
///
/// `escape_formulas` puts a ' before names in .csv that a spreadsheet would run: that begin with =, +, -, @,
/// tab or carriage return.
///
/// Rows are the nodes of `data` (whose order may be on any device), in their original order if they were
/// reordered, or with `rows` (int32 [K]) these nodes of `data` (or graphs) in their order; then .h5 has their
/// numbers, too, nodes/number (graphs/number). Edges are in the order of the list that the graph was made
/// from, as in the dataset's file. The file appears when complete. Throws DataError; UsageError as
/// expect_predictions_path() does.
void write_predictions(const std::string& path, const std::string& program, const Dataset& data,
                       const Predictions& predictions, bool escape_formulas = false, const Tensor& rows = {});
/// Same for embeddings, float32 [N, width] of nodes or [G, width] `of_graphs`: columns `embedding_0`, …, or
/// nodes/embedding (graphs/embedding); .npy: records of `node` (or `graph`), a name or number, and
/// `embedding`.
void write_embeddings(const std::string& path, const std::string& program, const Dataset& data,
                      const Tensor& embeddings, bool of_graphs, bool escape_formulas = false,
                      const Tensor& rows = {});
/// Same for attention: `source,target,layer_1_head_1,…` for every edge of `attention`, in its order, or
/// edges/src, edges/dst and edges/layer_1, float32 [M, heads].
void write_attention(const std::string& path, const std::string& program, const Dataset& data,
                     const AttentionWeights& attention, bool escape_formulas = false);
/// Same for pairs: `source,target,score,label`, or pairs/src, dst, score and label; without labels
/// `source,target,probability,score`, or pairs/probability. `targets`: the dataset of the pairs' second
/// nodes, if these are of another type, whose ids and names are in targets/.
void write_predictions(const std::string& path, const std::string& program, const Dataset& data,
                       const LinkPredictions& links, bool escape_formulas = false,
                       const Dataset* targets = nullptr);
/// Throws UsageError, naming the option, unless `path` ends in .csv, .jsonl or .h5, or in .npy if the option
/// is "embeddings" or "item-embeddings".
void expect_predictions_path(const std::string& option, const std::string& path);

}  // namespace adj
