#include "models.h"
#include "stack.h"

namespace adj::apps {

namespace {

/// Graph attention network (Veličković et al. 2018) of GATConv, or of GATv2Conv (Brody et al. 2022): heads
/// side by side and ELU in hidden layers, heads averaged in the last one. All parameters decay, biases too:
/// the authors' code means to leave out variables whose name is 'bias', but TensorFlow's names are of the
/// kind 'conv1d/bias:0', so that it leaves out none.
template <class Conv, class Options>
struct Gat : Stack<Conv> {
  Gat(const char* name, int64_t in, int64_t out, const Settings& s)
      : Stack<Conv>(fmt::format("{} {}", name, dashed_heads(in, out, s)), Activation::elu, s) {
    Options options{.heads = s.heads, .dropout = static_cast<float>(s.attention_dropout)};
    for (int64_t l = 1; l < s.layers; ++l) {
      this->add_hidden(s.heads * s.hidden, in, s.hidden, options);
      in = s.heads * s.hidden;
    }
    options.heads = s.output_heads;
    options.concat = false;
    this->add_last(in, out, options);
  }
  void prepare(const Graph& graph) const override { prepare_loops(graph, SelfLoops::renewed); }
};

}  // namespace

Program train_gat() {
  Program program{"train_gat",
                  "Trains a graph attention network (Velickovic et al. 2018, Brody et al. 2022).",
                  {"gat", "gatv2"}};
  program.defaults.hidden = 8;
  program.defaults.heads = 8;
  program.defaults.dropout = program.defaults.attention_dropout = 0.6;
  program.defaults.lr = 0.005;
  program.defaults.epochs = 1000;
  program.defaults.patience = 100;
  program.defaults.patience_on = "either";  // the authors' rule, as the 100 are theirs
  program.loaders = {"neighbor", "cluster", "saint"};
  program.options = [](auto add, Settings& s) {
    add_head_options(add, s);
    add("output-heads", with_default(s.output_heads), "of the last layer, which averages them");
    add_stack_options(add, s);
  };
  program.check = [](const Settings& s) {
    check_head_options(s);
    expect_integer("output-heads", s.output_heads, 1, 1 << 12);
    check_stack_options(s);
  };
  program.make = [](int64_t in, int64_t out, const Settings& s) -> std::unique_ptr<NodeModel> {
    if (s.model == "gatv2")
      return std::make_unique<nn::Model<Gat<nn::GATv2Conv, nn::GATv2ConvOptions>>>("GATv2", in, out, s);
    return std::make_unique<nn::Model<Gat<nn::GATConv, nn::GATConvOptions>>>("GAT", in, out, s);
  };
  return program;
}

}  // namespace adj::apps
