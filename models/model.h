#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/data/loader/saint_loader.h>
#include <adjoint/graph/block.h>
#include <adjoint/graph/features.h>
#include <adjoint/nn/module.h>

#include <span>

namespace adj::models {

/// What a program trains. Its one-line describe() ("GCN 1433-16-7") names it to users and in checkpoints.
struct Model : nn::Module {
  /// Does weight decay apply to this parameter?
  virtual bool decays(const std::string& /*parameter*/) const { return true; }
  /// What a training step adds to its loss, of the state and no example; absent where there is nothing.
  virtual Var penalty() const { return {}; }
  /// What a training says of the model at its end; empty where there is nothing.
  virtual std::string remark() const { return {}; }

  /// As a NodeModel, GraphModel or LinkModel; null where it is none.
  template <class Kind>
  Kind* as() {
    return dynamic_cast<Kind*>(this);
  }
};

/// One that says something of every node.
struct NodeModel : Model {
  /// [N, outputs]: logits, or for regression what is predicted, of every node, in the module's mode.
  virtual Var operator()(const Graph& graph, const Features& x) = 0;
  /// Layers that each take a block; 0 where the model takes whole graphs alone.
  virtual size_t num_layers() const { return 0; }
  /// Does a layer make over a block of all in-edges what it makes over the graph, so that it may be run layer
  /// by layer?
  virtual bool exact_by_layers() const { return num_layers() > 0; }
  /// What layer `layer` makes of the features of a block's sources, the targets' first: [num_dst, width].
  /// What stands between two layers belongs to the first of them.
  virtual Var over(size_t layer, const Block& block, const Var& x);
  /// Features as the first layer takes them over a block: dense, of the parameters' dtype.
  Var input(const Features& x) const;
  /// [seeds, outputs]: one block a layer, `x` of the first one's sources. Throws UsageError unless the model
  /// has as many layers.
  Var operator()(std::span<const Block> blocks, const Features& x);
  /// Derives of a batch's graph what a step asks it for. Called by the threads that prepare batches while
  /// others compute.
  virtual void prepare(const Graph& graph) const;
  /// The matrix by which all layers sum over neighbours, where they do.
  virtual SaintMatrix neighbor_sums() const { return SaintMatrix::none; }
  /// Features of the sums and means over neighbours that a forward pass takes, one after the other, where
  /// an edge list serves as it is. None where the model needs sorted edges: attention, maxima.
  virtual std::vector<int64_t> summed_widths() const { return {}; }
};

/// One that says something of every graph.
struct GraphModel : Model {
  /// [G, outputs]: logits, or for regression what is predicted. Graph g has the nodes offsets[g] to offsets[g
  /// + 1].
  virtual Var operator()(const Graph& graph, const Tensor& offsets, const Features& x) = 0;
};

}  // namespace adj::models
