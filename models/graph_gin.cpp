#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/edge_mask.h>
#include <adjoint/core/option_check.h>
#include <adjoint/models/family.h>
#include <adjoint/models/quantized.h>
#include <adjoint/models/stack.h>
#include <adjoint/nn/conv/gin_conv.h>
#include <adjoint/nn/norm/norm.h>
#include <adjoint/nn/pooling.h>

#include <algorithm>

namespace adj::models {

namespace {

/// Network of one layer: linear, batch norm, relu, linear.
struct Network : nn::Module {
  Network(int64_t in, int64_t hidden, const nn::QuantLinearOptions& quantization)
      : first(this, "first", in, hidden, quantization),
        norm(this, "norm", hidden),
        second(this, "second", hidden, hidden, quantization) {}
  Var operator()(const Var& x) const { return second(norm(first(x), {.activation = Activation::relu})); }
  std::string describe() const override { return "Network"; }
  nn::Child<nn::QuantLinear> first;
  nn::Child<nn::BatchNorm> norm;
  nn::Child<nn::QuantLinear> second;
};

/// Graph isomorphism network (Xu et al. 2019, section 4 and eq. 4.2): the input features and each layer's
/// output are pooled per graph and read out by a linear map each; a graph's logits are their sum, each under
/// dropout. Quantised are the inputs of each layer's sum, its network, and the readouts. Readouts take the
/// same quantised input as the layer, so pooling sums the same integers. They always have 8 bits, as there is
/// only one row per graph instead of one per node. With GINEConv the sums are of relu(neighbour + mapped edge
/// attributes) (Hu et al. 2020).
template <class Conv>
struct GraphGin : GraphModel {
  GraphGin(int64_t in, int64_t out, const ModelOptions& s)
      : p_(static_cast<float>(s.dropout)),
        name_(fmt::format("{} {}-{}x{}-{} {}{}{}{}", kTakesEdges ? "GINE" : "GIN", in, s.layers, s.hidden,
                          out, name_of(s.graphs.pool), s.train_eps ? " learnt eps" : "", describe_bits(s),
                          kTakesEdges ? describe_edges(s.edge_dim) : "")) {
    const Quantization quantization(s);
    const auto last = static_cast<size_t>(s.layers - 1);  // its output has the bits of its input
    add_readout(in, out, s.graphs, quantization.readout(0));
    for (int64_t l = 0; l < s.layers; ++l) {
      const auto layer = static_cast<size_t>(l);
      inputs_.add(quantization.input(layer));
      const int64_t width = l == 0 ? in : s.hidden;
      if constexpr (kTakesEdges)
        convs_.add(width, nn::GINEConvOptions{.train_eps = s.train_eps, .edge_dim = s.edge_dim}, width,
                   s.hidden, quantization.linear(layer));
      else
        convs_.add(nn::GINConvOptions{.train_eps = s.train_eps}, width, s.hidden, quantization.linear(layer));
      norms_.add(s.hidden);
      add_readout(s.hidden, out, s.graphs, quantization.readout(std::min(layer + 1, last)));
    }
    inputs_.add(quantization.input(last));
  }

  Var operator()(const Graph& graph, const Tensor& offsets, const Features& features) const override {
    const Var attr = edge_attributes(graph);
    Var x = input(features);
    Var out = read_out(0, graph, x, offsets);
    for (size_t l = 0; l < convs_.size(); ++l) {
      x = layer(l, graph, x, attr);
      out = out + read_out(l + 1, graph, x, offsets);
    }
    return out;
  }
  Var embeddings(const Graph& graph, const Tensor& offsets, const Features& features) const override {
    const Var attr = edge_attributes(graph);
    Var x = input(features);
    for (size_t l = 0; l < convs_.size(); ++l) x = layer(l, graph, x, attr);
    return pools_.back()(graph, x, offsets);
  }
  bool decays(const std::string& parameter) const override { return !parameter.ends_with("log_scale"); }
  EdgeSupport edge_support() const override {
    return {.attributes = kTakesEdges, .needs_attributes = kTakesEdges};
  }
  std::string describe() const override { return name_; }

 private:
  static constexpr bool kTakesEdges = NeedsEdgeAttributes<Conv>;

  Var edge_attributes(const Graph& graph) const {
    return kTakesEdges ? edge_attributes_of(name_, graph, parameters().front().dtype()) : Var();
  }
  Var input(const Features& features) const {
    return inputs_[0](variable_of(features, parameters().front().dtype()));
  }
  Var layer(size_t l, const Graph& graph, const Var& x, const Var& attr) const {
    return inputs_[l + 1](norms_[l](convolve(l, graph, x, attr), {.activation = Activation::relu}));
  }
  Var convolve(size_t l, const Graph& graph, const Var& x, const Var& attr) const {
    if constexpr (kTakesEdges)
      return convs_[l](graph, x, attr);
    else
      return convs_[l](graph, x);
  }
  void add_readout(int64_t width, int64_t out, const GraphModelOptions& o,
                   const nn::QuantLinearOptions& quantization) {
    pools_.add(o.pool, width, nn::GraphPoolingOptions{.ratio = o.pool_ratio});
    readouts_.add(pools_.back().width(), out, quantization);
  }
  Var read_out(size_t l, const Graph& graph, const Var& x, const Tensor& offsets) const {
    const Var y = readouts_[l](pools_[l](graph, x, offsets));
    return training() ? dropout(y, p_) : y;
  }

  float p_;
  std::string name_;
  nn::ModuleList<nn::Quantizer> inputs_{this, "inputs"};
  nn::ModuleList<Conv> convs_{this, "convs"};
  nn::ModuleList<nn::BatchNorm> norms_{this, "norms"};
  nn::ModuleList<nn::GraphPooling> pools_{this, "pools"};
  nn::ModuleList<nn::QuantLinear> readouts_{this, "readouts"};
};

using GraphGinModel = GraphGin<nn::GINConv<Network>>;

std::unique_ptr<Model> make_graph_gin(int64_t in, int64_t out, const ModelOptions& o) {
  if (o.model == "graph-gine") return construct<GraphGin<nn::GINEConv<Network>>>(in, out, o);
  return construct<GraphGinModel>(in, out, o);
}

void check_quantized(const ModelOptions& o) { (void)Quantization(o); }

}  // namespace

ModelFamily graph_gin() {
  return {"train_graph_gin",
          {"graph-gin", "graph-gine"},
          model_options({"train-eps", "pool", "pool-ratio"}),
          nullptr,
          make_graph_gin,
          {.hidden = 32, .layers = 4}};
}

ModelFamily graph_qgin() {
  ModelOption pool = model_option("pool", "pooling of a graph's nodes: sum, mean or max");
  pool.field = +[](ModelOptions& o) {
    return Choice(&o.graphs.pool, {nn::GraphPool::sum, nn::GraphPool::mean, nn::GraphPool::max});
  };
  return {"train_graph_qgin",
          {"graph-qgin"},
          quantized_options({pool}),
          check_quantized,
          construct<GraphGinModel>,
          {.hidden = 32, .layers = 4, .quantized = {.bits = "8"}},
          false};
}

}  // namespace adj::models
