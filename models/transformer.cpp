#include <adjoint/models/family.h>
#include <adjoint/models/stack.h>
#include <adjoint/nn/conv/transformer_conv.h>

namespace adj::models {

namespace {

/// Graph transformer (Shi et al., Masked Label Prediction, 2021): dot-product attention over neighbours plus
/// a linear map of the node's own features, or, with --gate, a learned mixture of both (eq. 5); heads
/// averaged in the last layer.
struct Transformer : Stack<nn::TransformerConv> {
  Transformer(int64_t in, int64_t out, const ModelOptions& s)
      : Stack(fmt::format("Transformer {}{}", dashed_heads(in, out, s), s.gate ? " gated" : ""),
              Activation::relu, s) {
    accept_padding();
    nn::TransformerConvOptions options{.heads = s.heads,
                                       .beta = s.gate,
                                       .dropout = static_cast<float>(s.attention_dropout),
                                       .edge_dim = edge_dim_of(s)};
    for (int64_t l = 1; l < s.layers; ++l) {
      add_hidden(s.heads * s.hidden, in, s.hidden, options);
      in = s.heads * s.hidden;
    }
    options.concat = false;
    add_last(in, out, options);
  }
};

}  // namespace

ModelFamily transformer() {
  return {"train_transformer",
          {"transformer"},
          stack_options({"heads", "attention-dropout", "gate"}),
          nullptr,
          construct<Transformer>,
          {.hidden = 16, .norm = Norm::layer, .heads = 4}};
}

}  // namespace adj::models
