#pragma once

#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/hetero_linear.h>

namespace adj::nn {

/// Options of HGTConv.
struct HGTConvOptions {
  int64_t heads = 1;  ///< attention heads of width out / heads
};

/// The heterogeneous graph transformer (Hu et al. 2020, eq. 3 to 5; PyG's HGTConv): per head,
/// α_ij = softmax_j(μ_r ⟨q_i, k_j A_r⟩ / sqrt(D)) over all edges j -> i, r their relations; m_i = Σ_j α_ij
/// v_j M_r, with k, q, v linear maps of x by type of node; and y_i = g W_t gelu(m_i) + (1 - g) x_i, g =
/// σ(s_t), t the type of i; without x_i and g if `in` and `out` differ. Keys and values are mapped once per
/// relation and source, all relations in one product, and one pass goes over all edges; nothing is made per
/// edge. Maps are uniform in ±1 / sqrt(in), μ and s are 1.
class HGTConv : public Module {
 public:
  /// Throws unless all numbers are positive and heads divides `out`.
  HGTConv(int64_t in, int64_t out, int64_t node_types, int64_t relations, const HGTConvOptions& options = {});
  /// x of all nodes of a graph, or of the sources of a block or relation, the targets first -> [num_dst,
  /// out]. `node_types`: int32 [num_src], the type of each source. `types`: int32 [M], the relation of each
  /// edge by edge number; absent: the edge attribute "type". What is derived from either is cached with the
  /// relation (graph/typed_edges.h). Over a rank's part keys and values are computed by the rank of their
  /// node, and edges have 2 numbers per head.
  Var operator()(const Structure& structure, const Sides& x, const Tensor& node_types,
                 const Tensor& types = {}) const;
  std::string describe() const override;

  Child<HeteroLinear> k_lin, q_lin, v_lin;  ///< of types of nodes
  Child<HeteroLinear> out_lin;              ///< W
  Var k_rel, v_rel;                         ///< A and M [R, heads, D, D]
  Var p_rel;                                ///< μ [R, heads]
  Var skip;                                 ///< s [node types]

 private:
  Var mapped(const Var& rows, const Var& maps, const RowGroups& pairs) const;
  Var messages(const Relation& relation, const Tensor& types, const Var& q, const Var& k, const Var& v) const;

  int64_t in_, out_, heads_;
};

}  // namespace adj::nn
