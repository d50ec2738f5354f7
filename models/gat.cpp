#include <adjoint/models/family.h>
#include <adjoint/models/stack.h>
#include <adjoint/nn/conv/gat_conv.h>

namespace adj::models {

namespace {

/// Graph attention network (Veličković et al. 2018) of GATConv, or of GATv2Conv (Brody et al. 2022):
/// concatenated heads and ELU in hidden layers, averaged heads in the last one. All parameters decay, also
/// biases: the authors' code tries to exclude variables named 'bias', but TensorFlow's names are like
/// 'conv1d/bias:0', so it excludes none.
template <class Conv, class Options>
struct Gat : Stack<Conv> {
  Gat(const char* name, int64_t in, int64_t out, const ModelOptions& s)
      : Stack<Conv>(fmt::format("{} {}", name, dashed_heads(in, out, s)), Activation::elu, s) {
    Options options{
        .heads = s.heads, .dropout = static_cast<float>(s.attention_dropout), .edge_dim = edge_dim_of(s)};
    for (int64_t l = 1; l < s.layers; ++l) {
      this->add_hidden(s.heads * s.hidden, in, s.hidden, options);
      in = s.heads * s.hidden;
    }
    options.heads = s.output_heads;
    options.concat = false;
    this->add_last(in, out, options);
  }
  void prepare(const Graph& graph) const override {
    prepare_loops(graph, SelfLoops::renewed);
    // Without loops, for the loops' attributes: the mean of the node's in-edges (fill_value, as in PyG).
    if (!graph.edge_attributes().empty()) prepare_loops(graph, SelfLoops::removed);
  }
};

std::unique_ptr<Model> make_gat(int64_t in, int64_t out, const ModelOptions& o) {
  if (o.model == "gatv2")
    return std::make_unique<nn::Model<Gat<nn::GATv2Conv, nn::GATv2ConvOptions>>>("GATv2", in, out, o);
  return std::make_unique<nn::Model<Gat<nn::GATConv, nn::GATConvOptions>>>("GAT", in, out, o);
}

}  // namespace

ModelFamily gat() {
  return {"train_gat", {"gat", "gatv2"}, stack_options({"heads", "attention-dropout", "output-heads"}),
          nullptr,     make_gat,         {.hidden = 8, .dropout = 0.6, .heads = 8, .attention_dropout = 0.6}};
}

}  // namespace adj::models
