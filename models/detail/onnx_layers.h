#pragma once

#include <adjoint/kernels/types/activation.h>
#include <adjoint/kernels/types/reduce.h>
#include <adjoint/models/detail/onnx_graph.h>

// Layers as ONNX, by the names of their weights. Each gives what the layer of nn/ gives in evaluation, for
// any graph: parallel edges count, and a node without edges is as there.

namespace adj::detail {

/// A module of a model: a graph, and the beginning of the names of the module's weights ("convs.0.").
struct OnnxModule {
  OnnxGraph& graph;
  std::string prefix = {};
  OnnxModule operator[](const std::string& child) const { return {graph, prefix + child + "."}; }
  OnnxModule operator[](size_t child) const { return (*this)[std::to_string(child)]; }
  bool has(const std::string& name) const { return graph.has_weight(prefix + name); }
  OnnxValue weight(const std::string& name) const { return graph.weight(prefix + name); }
  int64_t extent(const std::string& name, int dim) const { return graph.extent(prefix + name, dim); }
};

/// The edges that a layer sums over.
struct OnnxEdges {
  OnnxValue source, target;  ///< int64 [edges], numbers of nodes
  OnnxValue attr;            ///< [edges, columns], or absent
  OnnxValue weight;          ///< [edges], or absent: all 1
  OnnxValue nodes;           ///< int64 [1], their number
};

/// The loops replaced by one of each node, behind the other edges, with the mean attributes of the node's
/// others (SelfLoops::renewed). Without weights.
OnnxEdges with_renewed_loops(const OnnxEdges& edges);
/// The loops replaced by one of each node, of weight 1, or that of the last it had (SelfLoops::completed).
OnnxEdges with_completed_loops(const OnnxEdges& edges);

/// Rows of x [M, F] of equal `group`, int64 [M], reduced: [count, F], count int64 [1]. 0 for none.
OnnxValue reduce_by(Reduce reduce, const OnnxValue& x, const OnnxValue& group, const OnnxValue& count);

OnnxValue activated(Activation activation, const OnnxValue& x);
OnnxValue at_least(float least, const OnnxValue& x);  ///< max(x, least)
OnnxValue l2_normalized(const OnnxValue& x);
OnnxValue linear(const OnnxModule& module, const OnnxValue& x);  ///< with a bias if the module has one
OnnxValue mlp(const OnnxModule& module, const OnnxValue& x);     ///< nn::MLP
OnnxValue batch_norm(const OnnxModule& module, const OnnxValue& x);
OnnxValue layer_norm(const OnnxModule& module, const OnnxValue& x);

OnnxValue gcn_conv(const OnnxModule& module, const OnnxEdges& completed, const OnnxValue& x);
/// Neighbours are projected first if the module has a map for that.
OnnxValue sage_conv(const OnnxModule& module, const OnnxEdges& edges, const OnnxValue& x, Reduce reduce);
/// `concat`: of the heads, else their mean. The edges have renewed loops.
OnnxValue gat_conv(const OnnxModule& module, const OnnxEdges& renewed, const OnnxValue& x, bool concat);
OnnxValue gatv2_conv(const OnnxModule& module, const OnnxEdges& renewed, const OnnxValue& x, bool concat);
OnnxValue transformer_conv(const OnnxModule& module, const OnnxEdges& edges, const OnnxValue& x,
                           int64_t heads, bool concat);
OnnxValue agnn_conv(const OnnxModule& module, const OnnxEdges& renewed, const OnnxValue& x);
/// The sum before the network of a GINConv, or of a GINEConv.
OnnxValue gin_sum(const OnnxModule& module, const OnnxEdges& edges, const OnnxValue& x);
OnnxValue gine_sum(const OnnxModule& module, const OnnxEdges& edges, const OnnxValue& x);
/// Over all pairs of nodes of equal `group`; absent: of all. Memory grows with the square of their number.
OnnxValue multihead_attention(const OnnxModule& module, const OnnxValue& x, int64_t heads,
                              const OnnxValue& group);

}  // namespace adj::detail
