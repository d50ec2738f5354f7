#pragma once

#include <adjoint/graph/joint_graph.h>
#include <adjoint/nn/embedding.h>
#include <adjoint/nn/linear.h>

#include <vector>

namespace adj::models {

struct ModelOptions;

/// The schema of the options; without one that of a plain graph with `in` features.
GraphSchema schema_of(int64_t in, const ModelOptions& options);

/// Nodes of several types as rows of one width: per type a linear map of its features, or of a type without
/// features a learnt embedding of each node, initialised Glorot-uniform.
class TypedInput : public nn::Module {
 public:
  TypedInput(const GraphSchema& schema, int64_t width);
  /// [rows, width], by node, of features of the schema's types. Throws, naming the type, for other features,
  /// and for all nodes of a type with embeddings that are not as many.
  Var operator()(const TypedFeatures& x) const;
  std::string describe() const override { return "TypedInput"; }
  std::vector<const nn::Embedding*> tables() const;  ///< the embeddings, in the order of types

 private:
  std::vector<GraphSchema::Nodes> types_;
  nn::ModuleList<nn::Linear> maps_{this, "maps"};                 // of types with features, in their order
  nn::ModuleList<nn::Embedding> embeddings_{this, "embeddings"};  // of types without
};

}  // namespace adj::models
