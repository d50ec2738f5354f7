#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/spmm.h>
#include <adjoint/nn/gcn_conv.h>
#include <adjoint/nn/init.h>

namespace adj::nn {

GCNConv::GCNConv(int64_t in, int64_t out, bool has_bias, Activation activation) : activation_(activation) {
  ADJ_CHECK(in > 0 && out > 0, "GCNConv: expected positive widths, got {} -> {}", in, out);
  add_parameter("weight", weight, glorot_uniform(in, out));
  if (has_bias) add_parameter("bias", bias, Tensor::zeros({out}));
}

Var GCNConv::operator()(const Graph& graph, const Var& x) {
  ADJ_CHECK(x.size(0) == graph.num_nodes(), "GCNConv: features {} for a graph of {} nodes", x.shape().str(),
            graph.num_nodes());
  const SparseMatrix& a = graph.gcn_adjacency();
  const bool aggregate_first = !x.is_sparse() && weight.size(0) <= weight.size(1);
  if (!aggregate_first) return spmm(a, linear(x, weight), bias, activation_);
  const Var aggregated = x.requires_grad() ? spmm(a, x) : Var(cache_.get(a, x.value(), 1));
  return linear(aggregated, weight, bias, activation_);
}

std::string GCNConv::describe() const {
  return fmt::format("GCNConv({} -> {})", weight.size(0), weight.size(1));
}

}  // namespace adj::nn
