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
  check_rows("GCNConv", graph, x.shape());
  const SparseMatrix& a = graph.gcn_adjacency();
  if (weight.size(0) > weight.size(1)) return spmm(a, linear(x, weight), bias, activation_);
  const Var aggregated = x.requires_grad() ? spmm(a, x) : Var(cache_.get(a, x.value(), 1));
  return linear(aggregated, weight, bias, activation_);
}

Var GCNConv::operator()(const Graph& graph, const Features& x) {
  if (!x.is_sparse()) return (*this)(graph, Var(x.dense()));
  check_rows("GCNConv", graph, {x.rows(), x.cols()});
  return spmm(graph.gcn_adjacency(), linear(x, weight), bias, activation_);
}

std::string GCNConv::describe() const {
  return fmt::format("GCNConv({} -> {})", weight.size(0), weight.size(1));
}

}  // namespace adj::nn
