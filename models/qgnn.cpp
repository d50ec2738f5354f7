#include "family.h"
#include "stack.h"
#include <adjoint/autograd/spmm.h>
#include <adjoint/core/carrier.h>
#include <adjoint/core/option_check.h>
#include <adjoint/core/text.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/kernels/elementwise/bernoulli.h>
#include <adjoint/nn/quant_linear.h>

#include <algorithm>
#include <charconv>

namespace adj::models {

namespace {

/// "8" or "8,4,2" as the bits of each layer. Throws UsageError.
std::vector<int> bits_of(const std::string& option, const std::string& text, int64_t layers) {
  std::vector<int> bits;
  for (size_t at = 0; at <= text.size(); at = std::min(text.find(',', at), text.size()) + 1) {
    int one = 0;
    const char *first = text.data() + at, *last = text.data() + std::min(text.find(',', at), text.size());
    const auto [end, error] = std::from_chars(first, last, one);
    if (error != std::errc{} || end != last || !((one >= 1 && one <= BitTensor::kMostBits) || one == 32))
      throw UsageError(
          fmt::format("--{}: expected 1 to 8 or 32 bits, or such a number for each layer (8,4,2), got '{}'",
                      option, excerpt(text)));
    bits.push_back(one);
  }
  if (bits.size() == 1) bits.resize(static_cast<size_t>(layers), bits.front());
  if (std::ssize(bits) != layers)
    throw UsageError(fmt::format("--{} {}: {} numbers, expected one, or one for each of {} layers", option,
                                 excerpt(text), bits.size(), layers));
  return bits;
}
std::vector<int> weight_bits(const ModelOptions& o) {
  return o.bits_weights == "auto" ? bits_of("bits", o.bits, o.layers)
                                  : bits_of("bits-weights", o.bits_weights, o.layers);
}
std::vector<int> activation_bits(const ModelOptions& o) {
  return o.bits_activations == "auto" ? bits_of("bits", o.bits, o.layers)
                                      : bits_of("bits-activations", o.bits_activations, o.layers);
}

/// A graph with the self-loops that a model sums over, kept with the other one's relation.
struct Looped {
  Graph graph;
  Looped carried_to(Carrier& carrier) const { return {graph.carried_to(carrier)}; }
};

/// float32 [N], kept likewise: the share of nodes whose in-degree is no larger than the node's.
struct DegreeRanks {
  Tensor share;
  DegreeRanks carried_to(Carrier& carrier) const { return {carrier.carry(share)}; }
};
Tensor degree_ranks(const Graph& graph) {
  return graph.relation()
      .cache()
      .get<DegreeRanks>([&] {
        const auto degrees = graph.in_degrees().to_vector<float>();
        std::vector<float> sorted = degrees, share;
        std::sort(sorted.begin(), sorted.end());
        for (const float degree : degrees) {
          const auto no_larger = std::upper_bound(sorted.begin(), sorted.end(), degree) - sorted.begin();
          share.push_back(static_cast<float>(no_larger) / static_cast<float>(sorted.size()));
        }
        return new DegreeRanks{Tensor::from(share, graph.device())};
      })
      ->share;
}

/// Graph neural networks whose products a bit tensor can take (QGTC, Wang et al. 2022), trained with their
/// quantisation in the forward pass. A layer sums over neighbours, then updates; x_q is fake-quantised x:
///
///   gcn   s = mean of x_q over N(i) and i itself (Cluster-GCN, Chiang et al. 2019, eq. 10)
///         y = s_q W_q + b
///   gin   s = x_q,i + sum of x_q over in-edges (Xu et al. 2019, eq. 4.1, with an eps of 0)
///         h = relu(norm(s_q V_q + c)),  y = h_q W_q + b
///
/// with norm and relu behind all layers but the last, and dropout before a layer's quantisation. Weights of
/// edges do not count. docs/quantized.md lists its state.
struct Qgnn : NodeModel {
  Qgnn(int64_t in, int64_t out, const ModelOptions& o)
      : gin_(o.model == "gin"),
        p_(static_cast<float>(o.dropout)),
        degree_quant_(o.degree_quant),
        degree_quant_least_(o.degree_quant_least),
        name_(fmt::format(
            "{} {} {} bits{}{}{}{}{}", gin_ ? "quantised GIN" : "quantised GCN",
            dashed(widths_of(in, out, o)), o.bits,
            o.bits_weights == "auto" ? "" : fmt::format(", weights {}", o.bits_weights),
            o.bits_activations == "auto" ? "" : fmt::format(", activations {}", o.bits_activations),
            o.norm == "none" ? "" : " batch-norm", o.scales == "learned" ? "" : " running scales",
            o.degree_quant > 0.0 ? " degree-quant" : "")) {
    const std::vector<int64_t> widths = widths_of(in, out, o);
    const std::vector<int> of_weights = weight_bits(o), of_activations = activation_bits(o);
    const auto scales = o.scales == "learned" ? nn::Scales::learned : nn::Scales::running;
    const bool norm = o.norm == "batch";
    for (size_t l = 0; l + 1 < widths.size(); ++l) {
      const bool last = l + 2 == widths.size();
      const auto linear = [&](bool relu) {
        return nn::QuantLinearOptions{.weight_bits = of_weights[l],
                                      .input_bits = of_activations[l],
                                      .scales = scales,
                                      .activation = relu && !norm ? Activation::relu : Activation::none};
      };
      inputs_.add(nn::QuantizerOptions{.bits = of_activations[l], .scales = scales});
      if (gin_) {
        sums_.add(widths[l], o.hidden, linear(true));
        if (norm) hidden_norms_.add(o.hidden);
        hidden_.add(o.hidden, widths[l + 1], linear(!last));
      } else {
        sums_.add(widths[l], widths[l + 1], linear(!last));
      }
      if (norm && !last) norms_.add(widths[l + 1]);
    }
  }

  Var operator()(const Graph& graph, const Features& features) override {
    const SparseMatrix& a = matrix_of(graph);
    const Tensor keep = protected_nodes(graph);
    Var x = input(features);
    for (size_t l = 0; l < sums_.size(); ++l) {
      x = sums_[l](spmm(a, dropout(inputs_[l](x, keep), p_)), keep);
      if (gin_) {
        if (!hidden_norms_.empty()) x = hidden_norms_[l](x, {.activation = Activation::relu});
        x = hidden_[l](x, keep);
      }
      if (l < norms_.size()) x = norms_[l](x, {.activation = Activation::relu});
    }
    return x;
  }

  void prepare(const Graph& graph) const override {
    const SparseMatrix& a = matrix_of(graph);
    (void)a.relation().transposed();
    (void)a.relation().transposed_order();
    if (degree_quant_ > 0.0) (void)degree_ranks(graph);
  }

  /// Not scales: a smaller one is no simpler model.
  bool decays(const std::string& parameter) const override { return !parameter.ends_with("log_scale"); }
  std::string describe() const override { return name_; }

 private:
  const SparseMatrix& matrix_of(const Graph& graph) const {
    ADJ_CHECK(!graph.is_normalized(), "{}: takes sums over edges by rules of its own, expected a graph {}",
              describe(), "without normalised weights");
    const SelfLoops loops = gin_ ? SelfLoops::added : SelfLoops::completed;
    const Graph& looped =
        graph.relation()
            .cache()
            .get<Looped>(static_cast<int64_t>(loops),
                         [&] { return new Looped{Graph(with_self_loops(graph.relation(), loops).relation)}; })
            ->graph;
    return gin_ ? looped.adjacency() : looped.mean_adjacency();
  }

  /// uint8 [N] of a training step, drawn anew; absent where none is protected.
  Tensor protected_nodes(const Graph& graph) const {
    if (!training() || degree_quant_ <= 0.0) return {};
    const NoGrad no_grad;
    const Var p = degree_quant_least_ + Var(degree_ranks(graph)) * (degree_quant_ - degree_quant_least_);
    Tensor keep = Tensor::empty({graph.num_nodes()}, DType::u8, graph.device());
    kernels::bernoulli({.p = p.value(), .key = default_generator().next(), .y = keep});
    return keep;
  }

  bool gin_;
  float p_;
  double degree_quant_, degree_quant_least_;
  std::string name_;
  nn::ModuleList<nn::Quantizer> inputs_{this, "inputs"};
  nn::ModuleList<nn::QuantLinear> sums_{this, "sums"};
  nn::ModuleList<nn::QuantLinear> hidden_{this, "hidden"};
  nn::ModuleList<nn::BatchNorm> hidden_norms_{this, "hidden_norms"};
  nn::ModuleList<nn::BatchNorm> norms_{this, "norms"};
};

void check(const ModelOptions& o) {
  expect_one_of("norm", o.norm, {"none", "batch"});
  expect_one_of("scales", o.scales, {"learned", "running"});
  expect_probability("degree-quant", o.degree_quant);
  expect_probability("degree-quant-least", o.degree_quant_least);
  if (o.degree_quant_least > o.degree_quant)
    throw UsageError(fmt::format("--degree-quant-least {}: expected no more than --degree-quant {}",
                                 o.degree_quant_least, o.degree_quant));
  (void)weight_bits(o);
  (void)activation_bits(o);
}

std::unique_ptr<Model> make(int64_t in, int64_t out, const ModelOptions& o) {
  return std::make_unique<nn::Model<Qgnn>>(in, out, o);
}

}  // namespace

ModelFamily qgnn() {
  return {
      "train_qgnn",
      {"gcn", "gin"},
      {"norm", "bits", "bits-weights", "bits-activations", "scales", "degree-quant", "degree-quant-least"},
      check,
      make};
}

}  // namespace adj::models
