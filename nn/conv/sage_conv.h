#pragma once

#include <adjoint/autograd/edge.h>
#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/linear.h>

#include <optional>

namespace adj::nn {

/// Options of SAGEConv.
struct SAGEConvOptions {
  Reduce aggr = Reduce::mean;  ///< reduction over neighbours
  bool normalize = false;      ///< normalises the result's rows to length 1
  bool root_weight = true;     ///< W_r x_i
  bool project = false;        ///< neighbours are relu(W x_j + w) first; with max, GraphSAGE's pooling
  bool bias = true;            ///< b
};

/// W_l (reduce over j of x_j) + b + W_r x_i over the edges j -> i (Hamilton et al., Inductive Representation
/// Learning on Large Graphs, 2017, algorithm 1). x [N,in], features of any kind -> [N,out]. Edge weights are
/// ignored, except those of a normalised graph (Graph::as_normalized). Sums and means are taken on the
/// narrower side of W_l. The maps, `lin_l`, `lin_r` and, with project, `lin`, are uniform in ±1 / sqrt(in),
/// as in PyG's SAGEConv.
class SAGEConv : public Module {
 public:
  SAGEConv(Widths in, int64_t out, const SAGEConvOptions& options = {});
  /// x of all nodes, or {x_src [num_src, in.src], x_dst [num_dst, in.dst]}; x_dst absent: no W_r term.
  Var operator()(const Structure& structure, const Sides& x) const;
  std::string describe() const override;

 private:
  Widths in_;
  int64_t out_;
  SAGEConvOptions options_;

 public:
  std::optional<Child<Linear>> lin;  ///< with project
  Child<Linear> lin_l;
  std::optional<Child<Linear>> lin_r;  ///< with root_weight

 private:
  bool is_linear() const { return options_.aggr == Reduce::mean || options_.aggr == Reduce::sum; }
  const SparseMatrix* matrix_of(const Graph& graph) const;
  Var of_product(const Graph& graph, const Features& x) const;
  template <class F>
  Var transform(F&& neighbors, const Var& x) const;
  Var finish(const Var& y, const Var& of_root) const;
};

}  // namespace adj::nn
