#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/attention.h>
#include <adjoint/autograd/norm.h>
#include <adjoint/nn/conv/agnn_conv.h>
#include <adjoint/nn/conv/attention_edges.h>
#include <adjoint/nn/init.h>

namespace adj::nn {

AGNNConv::AGNNConv(const AGNNConvOptions& options) : self_loops_(options.add_self_loops) {
  if (options.requires_grad) {
    add_parameter("beta", beta, constant({1}, 1.0));
  } else {
    add_buffer("beta", fixed_beta_, constant({1}, 1.0));
  }
}

Var AGNNConv::operator()(const Structure& structure, const Sides& features) const {
  const Sides x = features.dense(*this).match("AGNNConv", structure, true);
  const Relation edges = attention_edges("AGNNConv", structure.relation(), {}, {}, self_loops_, {}).relation;
  const Var factor = cast(beta ? beta : Var(fixed_beta_), x.src.dtype());
  if (x.same()) return cosine_attention(edges, x.src, factor);
  const auto by_head = [](const Var& y) { return split_heads(y, 1); };
  return join_heads(dot_attention(edges, by_head(l2_normalize(x.dst) * factor), by_head(l2_normalize(x.src)),
                                  by_head(x.src), {}, 1.0),
                    true);
}

}  // namespace adj::nn
