#pragma once

#include <adjoint/models/trained_model.h>

#include <string>
#include <vector>

namespace adj {

/// A trained model as an ONNX file (onnx.ai, opset 18), for other runtimes and graphs of any size: inputs,
/// outputs and weights by name, preparation of features and units of targets included, so raw features give
/// outputs(). Whatever depends on the graph (self-loops, degrees, softmax over in-edges) is computed in the
/// file from its inputs, by the rules of the layers here, also for parallel edges and nodes without any.
///
/// Inputs, of which each model has those that it takes:
///   x            float32 [nodes, features], raw; absent if they are made of the graph (--node-features), but
///                for those of random walks
///   num_nodes    int64 [1], in the place of an absent x; not of graphs
///   edge_index   int64 [2, edges]: sources, then targets, numbers from 0
///   edge_weight  float32 [edges]
///   edge_attr    float32 [edges, columns]
///   batch        int64 [nodes], of graphs: the graph of each node; graphs are numbers from 0 to the largest
///   pairs        int64 [2, pairs], of links: nodes whose edge is scored
/// Outputs: "logits", or for regression "prediction" in the targets' unit, float32 [nodes, outputs], of
/// graphs [graphs, outputs], of edges [edges, outputs]; of links "logits" [pairs], and "embeddings" [nodes,
/// width]. Metadata: program, model, task, training options, names of classes, features and attributes, and
/// encoders.
///
/// Computes in float32, whatever the precision of the training.
struct OnnxFile {
  std::string bytes;                 ///< of the file
  std::vector<std::string> inputs;   ///< "x float32 [nodes, 16]"
  std::vector<std::string> outputs;  ///< likewise
  std::vector<std::string> notes;    ///< what a user of the file must know, a sentence each
};

/// Throws adj::Error, naming the part, for a model that is not expressed: quantised ones, those of several
/// types, learned node features, and options that only a later version knows.
OnnxFile to_onnx(const TrainedModel& trained);

/// Writes its bytes, replacing `path` atomically. Throws DataError if it cannot be written.
void save_onnx(const TrainedModel& trained, const std::string& path);

}  // namespace adj
