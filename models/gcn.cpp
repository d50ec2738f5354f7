#include <adjoint/models/family.h>
#include <adjoint/models/stack.h>
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/norm/norm.h>

namespace adj::models {

namespace {

/// Graph convolutional network (Kipf & Welling 2017): relu and dropout between the layers, dropout on the
/// input. With batch norm (Hu et al., Open Graph Benchmark, 2020), norm, relu and dropout are one pass; the
/// input has no dropout, so it is aggregated once.
struct Gcn : NodeModel {
  Gcn(int64_t in, int64_t out, const ModelOptions& o)
      : widths(widths_of(in, out, o)), p(static_cast<float>(o.dropout)) {
    const bool batch_norm = o.norm == Norm::batch;
    for (size_t l = 0; l + 1 < widths.size(); ++l) {
      const bool last = l + 2 == widths.size();
      const Activation activation = last || batch_norm ? Activation::none : Activation::relu;
      convs.add(widths[l], widths[l + 1], nn::GCNConvOptions{.activation = activation});
      if (!last && batch_norm) norms.add(widths[l + 1], nn::BatchNormOptions{.momentum = o.norm_momentum});
    }
  }

  Var operator()(const Graph& graph, const Features& features) const override {
    return through(convs.size(), graph, features);
  }
  Var embeddings(const Graph& graph, const Features& features) const override {
    if (convs.size() < 2) return NodeModel::embeddings(graph, features);
    return through(convs.size() - 1, graph, features);
  }
  /// The output of the first `layers` layers.
  Var through(size_t layers, const Graph& graph, const Features& features) const {
    Var x = after(0, convs[0](graph, constant(dropout(features, input_dropout()))));
    for (size_t l = 1; l < layers; ++l) x = layer(l, graph, x);
    return x;
  }
  size_t num_layers() const override { return convs.size(); }
  Var over(size_t l, const Block& block, const Var& x) const override { return layer(l, block, x); }
  EdgeSupport edge_support() const override { return {.weights = true}; }
  /// A block lacks the degrees of its outermost nodes.
  bool exact_by_layers() const override { return false; }
  /// Before a convolution; with norms, dropout follows the norm.
  float input_dropout() const { return norms.empty() ? p : 0.0f; }
  Var layer(size_t l, const nn::Structure& structure, const Var& x) const {
    return after(l, convs[l](structure, dropout(x, input_dropout())));
  }
  Var after(size_t l, const Var& y) const {
    return l < norms.size() ? norms[l](y, {.activation = Activation::relu, .dropout = p}) : y;
  }

  void prepare(const Graph& graph) const override { (void)graph.gcn_adjacency(); }
  PropagationMatrix propagation_matrix() const override { return PropagationMatrix::gcn; }
  std::vector<int64_t> summed_widths() const override { return narrower(widths); }

  /// All convolutions but the last; with two layers as in Kipf & Welling.
  bool decays(const std::string& parameter) const override {
    return parameter.starts_with("convs.") &&
           !parameter.starts_with(fmt::format("convs.{}.", convs.size() - 1));
  }

  std::string describe() const override {
    return fmt::format("GCN {}{}", dashed(widths), norms.empty() ? "" : " batch-norm");
  }

  std::vector<int64_t> widths;
  float p;
  nn::ModuleList<nn::GCNConv> convs{this, "convs"};
  nn::ModuleList<nn::BatchNorm> norms{this, "norms"};
};

}  // namespace

ModelFamily gcn() {
  return {"train_gcn",
          {"gcn"},
          {norm_option<Norm::none, Norm::batch>("norm between the layers: none or batch")},
          nullptr,
          construct<Gcn>};
}

}  // namespace adj::models
