#include "models.h"
#include "stack.h"

namespace adj::apps {

namespace {

/// Graph transformer (Shi et al., Masked Label Prediction, 2021): dot-product attention over neighbours
/// beside a linear map of the node's own features, or, with --gate, a learnt mixture of the two (eq. 5);
/// heads averaged in the last layer.
struct Transformer : Stack<nn::TransformerConv> {
  Transformer(int64_t in, int64_t out, const Settings& s)
      : Stack(fmt::format("Transformer {}{}", dashed_heads(in, out, s), s.gate ? " gated" : ""),
              Activation::relu, s) {
    nn::TransformerConvOptions options{
        .heads = s.heads, .beta = s.gate, .dropout = static_cast<float>(s.attention_dropout)};
    for (int64_t l = 1; l < s.layers; ++l) {
      add_hidden(s.heads * s.hidden, in, s.hidden, options);
      in = s.heads * s.hidden;
    }
    options.concat = false;
    add_last(in, out, options);
  }
};

}  // namespace

Program train_transformer() {
  Program program{"train_transformer", "Trains a graph transformer (Shi et al. 2021).", {"transformer"}};
  program.defaults.hidden = 16;
  program.defaults.heads = 4;
  program.defaults.norm = "layer";
  program.loaders = {"neighbor", "cluster", "saint"};
  program.options = [](auto add, Settings& s) {
    add_head_options(add, s);
    add("gate", boost::program_options::bool_switch(&s.gate),
        "mix attention and own features by a gate that is learnt");
    add_stack_options(add, s);
  };
  program.check = [](const Settings& s) {
    check_head_options(s);
    check_stack_options(s);
  };
  program.make = [](int64_t in, int64_t out, const Settings& s) {
    return std::make_unique<nn::Model<Transformer>>(in, out, s);
  };
  return program;
}

}  // namespace adj::apps
