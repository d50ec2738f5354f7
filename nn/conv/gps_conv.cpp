#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/edge_mask.h>
#include <adjoint/nn/conv/gps_conv.h>

namespace adj::nn {

GPSLayer::GPSLayer(int64_t width, const GPSConvOptions& options)
    : attn(this, "attn", width,
           MultiheadAttentionOptions{.heads = options.heads, .dropout = options.attention_dropout}),
      norm1(this, "norm1", width),
      norm2(this, "norm2", width),
      norm3(this, "norm3", width),
      first(this, "first", width, 2 * width,
            LinearOptions{.activation = Activation::relu, .initial = Initial::fan_in}),
      second(this, "second", 2 * width, width, LinearOptions{.initial = Initial::fan_in}),
      p_(options.dropout) {
  (void)dropout_rule(options.dropout);
}

Var GPSLayer::combined(const Var& local, const Relation& pairs, const Var& x) const {
  const auto part = [&](const Child<BatchNorm>& norm, const Var& y) { return norm(dropout(y, p_) + x); };
  const auto attended = [&] {
    const NoEdgeMask pairs_are_no_edges;
    return attn(pairs, x);
  };
  const Var h = part(norm1, local) + part(norm2, attended());
  return norm3(h + dropout(second(dropout(first(h), p_)), p_));
}

std::string GPSLayer::describe() const {
  return fmt::format("GPSConv({}, heads of {})", second.weight.size(1), attn.describe());
}

}  // namespace adj::nn
