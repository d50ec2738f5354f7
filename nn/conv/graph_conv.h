#pragma once

#include <adjoint/autograd/edge.h>
#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/linear.h>

namespace adj::nn {

/// Options of GraphConv.
struct GraphConvOptions {
  Reduce aggr = Reduce::sum;  ///< reduction over neighbours; the mean divides by their number
  bool bias = true;           ///< b
};

/// W_root x_i + W_rel (reduce over j of w_ij x_j) + b (Morris et al., Weisfeiler and Leman Go Neural, 2019).
/// x [N,in], features of any kind -> [N,out]. Sums and means are taken on the narrower side of W_rel. Max
/// reduces the weighted w_ij x_j. The maps are uniform in ±1 / sqrt(in), as in PyG's GraphConv. `edge_weight`
/// [M] by edge number replaces the graph's weights and may require a gradient; a relation itself has no
/// weights.
class GraphConv : public Module {
 public:
  GraphConv(Widths in, int64_t out, const GraphConvOptions& options = {});
  /// x of all nodes, or {x_src [num_src, in.src], x_dst [num_dst, in.dst]}; x_dst absent: no W_root term.
  Var operator()(const Structure& structure, const Sides& x, const Var& edge_weight = {}) const;
  std::string describe() const override;

 private:
  Widths in_;
  int64_t out_;
  Reduce aggr_;

 public:
  Child<Linear> lin_rel, lin_root;  ///< W_rel with b, and W_root

 private:
  const SparseMatrix* matrix_of(const Graph& graph, const Var& edge_weight) const;
  Var of_product(const Graph& graph, const Features& x, const Var& edge_weight) const;
};

}  // namespace adj::nn
