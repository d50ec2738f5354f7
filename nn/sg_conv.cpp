#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/spmm.h>
#include <adjoint/nn/init.h>
#include <adjoint/nn/sg_conv.h>

namespace adj::nn {

SGConv::SGConv(int64_t in, int64_t out, int hops, bool has_bias) : hops_(hops) {
  ADJ_CHECK(in > 0 && out > 0 && hops >= 1,
            "SGConv: expected positive widths and hops, got {} -> {}, {} hops", in, out, hops);
  add_parameter("weight", weight, glorot_uniform(in, out));
  if (has_bias) add_parameter("bias", bias, Tensor::zeros({out}));
}

Var SGConv::operator()(const Graph& graph, const Var& x) {
  check_rows("SGConv", graph, x.shape());
  const SparseMatrix& a = graph.gcn_adjacency();
  if (!x.requires_grad()) return linear(cache_.get(a, x.value(), hops_), weight, bias);
  return propagate(a, linear(x, weight));
}

Var SGConv::operator()(const Graph& graph, const Features& x) {
  if (!x.is_sparse()) return (*this)(graph, Var(x.dense()));
  check_rows("SGConv", graph, {x.rows(), x.cols()});
  return propagate(graph.gcn_adjacency(), linear(x, weight));
}

Var SGConv::propagate(const SparseMatrix& a, Var y) const {
  for (int hop = 0; hop < hops_; ++hop) y = spmm(a, y, hop + 1 == hops_ ? bias : Var{});
  return y;
}

std::string SGConv::describe() const {
  return fmt::format("SGConv({} -> {}, {} hops)", weight.size(0), weight.size(1), hops_);
}

}  // namespace adj::nn
