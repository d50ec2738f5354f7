#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/block.h>
#include <adjoint/graph/features.h>
#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/embedding.h>
#include <adjoint/nn/module.h>

#include <optional>
#include <span>
#include <vector>

namespace adj::models {

/// What a model's layers can compute with besides the edges themselves.
struct EdgeSupport {
  bool weights = false;           ///< edge weights, as factors of the sums over neighbours
  bool attributes = false;        ///< the edge attribute "attr", of ModelOptions::edge_dim columns
  bool needs_attributes = false;  ///< does not compute without them (GINE)
};

/// A trainable model. Its one-line describe() ("GCN 1433-16-7") names it in messages and checkpoints.
struct Model : nn::Module {
  /// Whether weight decay applies to this parameter.
  virtual bool decays(const std::string& /*parameter*/) const { return true; }
  /// Whether a layer on a block of all in-edges gives the same result as on the graph, so that inference can
  /// run layer by layer.
  virtual bool exact_by_layers() const { return false; }

  virtual EdgeSupport edge_support() const { return {}; }  ///< what it can use of the edges

  /// Cast to NodeModel, GraphModel, PairModel, …; null if it is of another kind.
  template <class Kind>
  Kind* as() {
    return dynamic_cast<Kind*>(this);
  }
};

/// A model with outputs per node.
struct NodeModel : Model {
  /// [N, outputs]: logits, or predictions for regression, of every node, in the module's mode.
  virtual Var operator()(const Graph& graph, const Features& x) const = 0;
  /// [N, width]: the input of the last layer, every node's embedding, in the module's mode. Throws UsageError
  /// for a model without hidden layers.
  virtual Var embeddings(const Graph& graph, const Features& x) const;
  virtual bool has_embeddings() const { return num_layers() != 1; }  ///< whether there is a hidden layer
  /// Number of layers that each take a block; 0 if the model only runs on whole graphs.
  virtual size_t num_layers() const { return 0; }
  /// Number of edges in a row over which a node's outputs depend on other nodes; absent: on all nodes.
  virtual std::optional<int64_t> hops() const {
    return num_layers() > 0 ? std::optional(static_cast<int64_t>(num_layers())) : std::nullopt;
  }
  bool exact_by_layers() const override { return num_layers() > 0; }
  /// Output of layer `layer` for the features of a block's sources, the targets' first: [num_dst, width]. A
  /// layer includes the norm and activation after it.
  virtual Var over(size_t layer, const Block& block, const Var& x) const;
  /// Input of the first layer over a block: dense, of the parameters' dtype.
  virtual Var input(const Features& x) const;
  /// [seeds, outputs]: one block per layer, `x` for the first block's sources. Throws UsageError if the
  /// number of blocks differs from the number of layers.
  Var operator()(std::span<const Block> blocks, const Features& x) const;
  /// Precomputes what a step derives from a batch's graph. Called by loader threads in parallel with
  /// training.
  virtual void prepare(const Graph& graph) const;
  /// Embeddings of nodes, whose gradients may be of rows alone.
  virtual std::vector<const nn::Embedding*> tables() const { return {}; }
  virtual void prepare_block(const Block&) const {}  ///< likewise from a block, on the batch's device
  /// The first layer that passes gradients to its sources if the features have none: those before it sum the
  /// features themselves, and need no transposes of their blocks.
  virtual size_t first_transposed() const { return 0; }
  /// Whether layers sum over the rows of blocks; else prepare_block() makes of them what they sum over.
  virtual bool sums_block_rows() const { return true; }
  /// Whether PaddedBlocks give the same outputs, and a step over them can be captured: a row of each layer
  /// depends on nothing but its in-edges (with batch norm it does, and in a GCN on its sources' degrees), and
  /// the host reads nothing (as it does to replace self-loops for a GAT).
  virtual bool takes_padded_blocks() const { return false; }
  /// The matrix with which all layers sum over neighbours, if they do.
  virtual PropagationMatrix propagation_matrix() const { return PropagationMatrix::none; }
  /// Widths of the sums and means over neighbours in a forward pass, in order, if an unsorted edge list
  /// suffices. Empty if the model needs sorted edges (attention, maxima).
  virtual std::vector<int64_t> summed_widths() const { return {}; }

 protected:
  /// Input of the first convolution. Dense features that stay the same are aggregated once.
  nn::Sides constant(const Features& x) const { return inputs_.constant(x); }

 private:
  mutable nn::PropagationCache inputs_;  // thread-safe
};

/// A model with outputs per graph.
struct GraphModel : Model {
  /// [G, outputs]: logits, or predictions for regression. Graph g has the nodes offsets[g] to offsets[g + 1].
  virtual Var operator()(const Graph& graph, const Tensor& offsets, const Features& x) const = 0;
  /// [G, width]: the last layer's output, pooled over each graph.
  virtual Var embeddings(const Graph& graph, const Tensor& offsets, const Features& x) const = 0;
};

}  // namespace adj::models
