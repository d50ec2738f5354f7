#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/attention.h>
#include <adjoint/nn/conv/agnn_conv.h>
#include <adjoint/nn/conv/attention_edges.h>
#include <adjoint/nn/conv/propagation_cache.h>

namespace adj::nn {

AGNNConv::AGNNConv(bool requires_grad, bool add_self_loops) : self_loops_(add_self_loops) {
  if (requires_grad) {
    add_parameter("beta", beta, Tensor::full({1}, 1.0));
  } else {
    add_buffer("beta", fixed_beta_, Tensor::full({1}, 1.0));
  }
}

Var AGNNConv::operator()(const Graph& graph, const Var& x) const {
  check_rows("AGNNConv", graph, x.shape());
  const AttentionEdges edges = attention_edges("AGNNConv", graph, {}, {}, self_loops_, {});
  return cosine_attention(edges.relation, x, cast(beta ? beta : Var(fixed_beta_), x.dtype()));
}

}  // namespace adj::nn
