#pragma once

#include <adjoint/models/detail/onnx_layers.h>
#include <adjoint/models/model_description.h>

#include <functional>
#include <string>
#include <vector>

namespace adj::detail {

/// What a model is applied to.
struct OnnxInputs {
  OnnxValue x;      ///< float32 [nodes, features], scaled
  OnnxEdges edges;  ///< with the attributes and weights that the model takes
  OnnxValue batch;  ///< int64 [nodes], of models of graphs
  OnnxValue pairs;  ///< int64 [2, pairs], of models of links
};

/// Declares the inputs of a file, and prepares them as the training did. `takes_weights`: the layers weigh
/// edges.
OnnxInputs onnx_inputs(OnnxGraph& graph, const ModelDescription& model, bool takes_weights);

/// nn::GraphPooling of x [nodes, F]; `graphs` int64 [1], their number.
OnnxValue graph_pooling(const OnnxModule& module, const models::GraphModelOptions& options,
                        const OnnxInputs& in, const OnnxValue& x, const OnnxValue& graphs);

struct OnnxOutputs {
  OnnxValue logits;      ///< [nodes, outputs], [graphs, outputs], [edges, outputs], or [pairs] of links
  OnnxValue embeddings;  ///< [nodes, width] of links, else absent
};

/// How the models of a program are written.
struct OnnxFamily {
  std::string program;
  std::vector<std::string> models;  ///< ModelOptions::model
  /// Those with an effect on a trained model; others must be as before they existed.
  std::vector<std::string> options;
  std::function<OnnxOutputs(const OnnxModule&, const OnnxInputs&, const models::ModelOptions&)> write;
};

/// Null if models of the program are not expressed.
const OnnxFamily* onnx_family(const std::string& program);

}  // namespace adj::detail
