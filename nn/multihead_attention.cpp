#include <adjoint/autograd/attention.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/nn/conv/attention_edges.h>
#include <adjoint/nn/multihead_attention.h>

namespace adj::nn {

MultiheadAttention::MultiheadAttention(int64_t width, const MultiheadAttentionOptions& options)
    : in_proj(this, "in_proj", width, 3 * width),
      out_proj(this, "out_proj", width, width, LinearOptions{.initial = Initial::fan_in}),
      options_(options) {
  ADJ_CHECK(width > 0 && options.heads > 0 && width % options.heads == 0,
            "MultiheadAttention: {} heads of width {}, expected a divisor of it", options.heads, width);
  (void)dropout_rule(options.dropout);
  out_proj.bias.set_value(Tensor::zeros({width}));
}

Var MultiheadAttention::operator()(const Relation& pairs, const Var& x) const {
  const Var all = in_proj(x);
  const int64_t width = x.size(1);
  const auto part = [&](int64_t k) { return split_heads(narrow(all, 1, k * width, width), options_.heads); };
  const AttentionOptions attention{.dropout = options_.dropout, .training = training()};
  return out_proj(join_heads(dot_attention(pairs, part(0), part(1), part(2), attention), true));
}

std::string MultiheadAttention::describe() const {
  return fmt::format("MultiheadAttention({}, heads={})", out_proj.weight.size(0), options_.heads);
}

}  // namespace adj::nn
