#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/segment.h>
#include <adjoint/core/option_check.h>
#include <adjoint/models/family.h>
#include <adjoint/models/quantized.h>
#include <adjoint/nn/conv/gin_conv.h>
#include <adjoint/nn/norm/norm.h>

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
/// only one row per graph instead of one per node.
struct GraphGin : GraphModel {
  GraphGin(int64_t in, int64_t out, const ModelOptions& s)
      : pool_(s.graphs.pool),
        p_(static_cast<float>(s.dropout)),
        name_(fmt::format("GIN {}-{}x{}-{} {}{}{}", in, s.layers, s.hidden, out, name_of(s.graphs.pool),
                          s.train_eps ? " learnt eps" : "", describe_bits(s))) {
    const Quantization quantization(s);
    const auto last = static_cast<size_t>(s.layers - 1);  // its output has the bits of its input
    readouts_.add(in, out, quantization.readout(0));
    for (int64_t l = 0; l < s.layers; ++l) {
      const auto layer = static_cast<size_t>(l);
      inputs_.add(quantization.input(layer));
      convs_.add(nn::GINConvOptions{.train_eps = s.train_eps}, l == 0 ? in : s.hidden, s.hidden,
                 quantization.linear(layer));
      norms_.add(s.hidden);
      readouts_.add(s.hidden, out, quantization.readout(std::min(layer + 1, last)));
    }
    inputs_.add(quantization.input(last));
  }

  Var operator()(const Graph& graph, const Tensor& offsets, const Features& features) const override {
    Var x = inputs_[0](Var(features.to_dense().to(parameters().front().dtype())));
    Var out = read_out(0, x, offsets);
    for (size_t l = 0; l < convs_.size(); ++l) {
      x = inputs_[l + 1](norms_[l](convs_[l](graph, x), {.activation = Activation::relu}));
      out = out + read_out(l + 1, x, offsets);
    }
    return out;
  }
  bool decays(const std::string& parameter) const override { return !parameter.ends_with("log_scale"); }
  std::string describe() const override { return name_; }

 private:
  Var read_out(size_t l, const Var& x, const Tensor& offsets) const {
    const Var pooled = pool_ == Reduce::mean  ? segment_mean(x, offsets)
                       : pool_ == Reduce::max ? segment_max(x, offsets)
                                              : segment_sum(x, offsets);
    const Var y = readouts_[l](pooled);
    return training() ? dropout(y, p_) : y;
  }

  Reduce pool_;
  float p_;
  std::string name_;
  nn::ModuleList<nn::Quantizer> inputs_{this, "inputs"};
  nn::ModuleList<nn::GINConv<Network>> convs_{this, "convs"};
  nn::ModuleList<nn::BatchNorm> norms_{this, "norms"};
  nn::ModuleList<nn::QuantLinear> readouts_{this, "readouts"};
};

void check_quantized(const ModelOptions& o) { (void)Quantization(o); }

}  // namespace

ModelFamily graph_gin() {
  return {"train_graph_gin", {"graph-gin"},       model_options({"train-eps", "pool"}),
          nullptr,           construct<GraphGin>, {.hidden = 32, .layers = 4}};
}

ModelFamily graph_qgin() {
  return {"train_graph_qgin",
          {"graph-qgin"},
          quantized_options(model_options({"pool"})),
          check_quantized,
          construct<GraphGin>,
          {.hidden = 32, .layers = 4, .quantized = {.bits = "8"}},
          false};
}

}  // namespace adj::models
