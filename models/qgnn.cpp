#include "family.h"
#include "quantized.h"
#include "stack.h"
#include <adjoint/autograd/edge.h>
#include <adjoint/core/detail/carrier.h>
#include <adjoint/core/option_check.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/kernels/elementwise/bernoulli.h>

#include <algorithm>
#include <cmath>

namespace adj::models {

namespace {

/// float32 [N], cached with the relation: share of nodes whose in-degree is at most the node's.
struct DegreeRanks {
  Tensor share;
  DegreeRanks carried_to(adj::detail::Carrier& carrier) const { return {carrier.carry(share)}; }
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

/// Graph neural networks with bit-tensor products (QGTC, Wang et al. 2022), trained with quantisation in the
/// forward pass. A layer sums over neighbours, then updates; x_q is fake-quantised x:
///
///   gcn   s = norm(mean of x_q over N(i) and i itself) (Cluster-GCN, Chiang et al. 2019, eq. 10)
///         y = s_q W_q + b
///   gin   s = norm(x_q,i + sum of x_q over in-edges) (Xu et al. 2019, eq. 4.1, with an eps of 0)
///         h = relu(norm(s_q V_q + c)),  y = h_q W_q + b
///
/// With `norm` = sums the sums are normalised, as one scale quantises all their columns: columns of bags of
/// words differ in size like word frequencies, and few bits would leave nothing of rare words. If a step
/// covers the whole graph, running statistics are those of the newest step: those of older weights differ,
/// and with few bits a shift of half a step changes integers. Norm and relu follow all layers but the last;
/// dropout precedes a layer's quantisation. Edge weights are ignored. With node_bits every node of the graph
/// has its own bits and step size in each quantiser of activations (nn/node_quantizer.h). docs/quantized.md
/// lists the state.
struct Qgnn : NodeModel {
  Qgnn(int64_t in, int64_t out, const ModelOptions& o)
      : gin_(o.model == "gin"),
        p_(static_cast<float>(o.dropout)),
        degree_quant_(o.quantized.degree_quant),
        degree_quant_least_(o.quantized.degree_quant_least),
        node_bits_(o.quantized.node_bits),
        penalty_(o.quantized.node_bits_penalty * static_cast<double>(o.quantized.nodes)),
        name_(fmt::format("{} {}{}{}{}", gin_ ? "quantised GIN" : "quantised GCN",
                          dashed(widths_of(in, out, o)), describe_bits(o),
                          o.norm == "none"    ? ""
                          : o.norm == "batch" ? " batch-norm"
                                              : " batch-norm of sums",
                          o.quantized.degree_quant > 0.0 ? " degree-quant" : "")) {
    const std::vector<int64_t> widths = widths_of(in, out, o);
    const Quantization quantization(o);
    const bool norm = o.norm != "none";
    const auto relu = norm ? Activation::none : Activation::relu;  // a norm includes its own relu
    const auto add_norm = [&](nn::ModuleList<nn::BatchNorm>& to, int64_t width) {
      to.add(width, nn::BatchNormOptions{.momentum = o.norm_momentum});
    };
    for (size_t l = 0; l + 1 < widths.size(); ++l) {
      const bool last = l + 2 == widths.size();
      const nn::QuantLinearOptions output = quantization.linear(l, last ? Activation::none : relu);
      inputs_.add(quantization.input(l));
      if (o.norm == "sums") add_norm(sum_norms_, widths[l]);
      if (gin_) {
        sums_.add(widths[l], o.hidden, quantization.linear(l, relu));
        if (norm) add_norm(hidden_norms_, o.hidden);
        hidden_.add(o.hidden, widths[l + 1], output);
      } else {
        sums_.add(widths[l], widths[l + 1], output);
      }
      if (norm && !last) add_norm(norms_, widths[l + 1]);
    }
  }

  Var operator()(const Graph& graph, const Features& features) const override {
    const SparseMatrix& a = matrix_of(graph);
    const Tensor keep = protected_nodes(graph);
    Var x = input(features);
    for (size_t l = 0; l < sums_.size(); ++l) {
      x = aggregate(a, dropout(inputs_[l](x, keep), p_));
      if (!sum_norms_.empty()) x = sum_norms_[l](x);
      x = sums_[l](x, keep);
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

  /// Excludes scales and bits: smaller ones do not make a simpler model.
  bool decays(const std::string& parameter) const override {
    return !parameter.ends_with("log_scale") && !parameter.ends_with(".bits");
  }

  /// penalty N (mean bits - target)^2, the mean over all quantised numbers (A2Q uses kilobytes; this form
  /// does not depend on the graph's size).
  Var penalty() const override {
    if (node_bits_ == 0.0) return {};
    Var sum;
    double width = 0.0;
    for (const auto& [quantizer, columns] : by_node()) {
      const Var term = quantizer->mean_bits() * static_cast<double>(columns);
      sum = sum ? sum + term : term;
      width += static_cast<double>(columns);
    }
    const Var off = sum * (1.0 / width) - node_bits_;
    return off * off * penalty_;
  }
  std::string remark() const override {
    if (node_bits_ == 0.0) return {};
    double sum = 0.0, numbers = 0.0;
    int least = BitTensor::kMostBits, most = 1;
    for (const auto& [quantizer, columns] : by_node())
      for (const int bits : quantizer->held_bits()) {
        sum += static_cast<double>(bits * columns);
        numbers += static_cast<double>(columns);
        least = std::min(least, bits);
        most = std::max(most, bits);
      }
    return fmt::format("bits by node: {:.2f} in the mean over all numbers, {} to {}", sum / numbers, least,
                       most);
  }
  std::string describe() const override { return name_; }

 private:
  /// The per-node quantizers and their input widths.
  std::vector<std::pair<const nn::NodeQuantizer*, int64_t>> by_node() const {
    std::vector<std::pair<const nn::NodeQuantizer*, int64_t>> all;
    for (size_t l = 0; l < sums_.size(); ++l) {
      all.emplace_back(inputs_[l].nodes(), sums_[l].weight.size(0));
      all.emplace_back(sums_[l].input.nodes(), sums_[l].weight.size(0));
      if (gin_) all.emplace_back(hidden_[l].input.nodes(), hidden_[l].weight.size(0));
    }
    return all;
  }

  const SparseMatrix& matrix_of(const Graph& graph) const {
    ADJ_CHECK(!graph.is_normalized(), "{}: has its own rules for sums over edges, expected a graph {}",
              describe(), "without normalised weights");
    const SelfLoops loops = gin_ ? SelfLoops::added : SelfLoops::completed;
    // Cached with the relation.
    const Graph& looped = *graph.relation().cache().get<Graph>(static_cast<int64_t>(loops), [&] {
      return new Graph(with_self_loops(graph.relation(), loops).relation);
    });
    return gin_ ? looped.adjacency() : looped.mean_adjacency();
  }

  /// uint8 [N], drawn for each training step; absent if no node is protected.
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
  double degree_quant_, degree_quant_least_, node_bits_, penalty_;
  std::string name_;
  nn::ModuleList<nn::Quantizer> inputs_{this, "inputs"};
  nn::ModuleList<nn::BatchNorm> sum_norms_{this, "sum_norms"};
  nn::ModuleList<nn::QuantLinear> sums_{this, "sums"};
  nn::ModuleList<nn::QuantLinear> hidden_{this, "hidden"};
  nn::ModuleList<nn::BatchNorm> hidden_norms_{this, "hidden_norms"};
  nn::ModuleList<nn::BatchNorm> norms_{this, "norms"};
};

void check_qgnn(const ModelOptions& o) {
  expect_one_of("norm", o.norm, {"none", "batch", "sums"});
  expect_probability("degree-quant", o.quantized.degree_quant);
  expect_probability("degree-quant-least", o.quantized.degree_quant_least);
  if (o.quantized.degree_quant_least > o.quantized.degree_quant)
    usage_fail("--degree-quant-least {}: expected no more than --degree-quant {}",
               o.quantized.degree_quant_least, o.quantized.degree_quant);
  const Quantization quantization(o);
  if (o.quantized.node_bits == 0.0) return;
  if (!(o.quantized.node_bits >= 1.0 && o.quantized.node_bits <= 8.0))
    usage_fail("--node-bits: expected 1 to 8, or 0 (not by node), got {}", o.quantized.node_bits);
  if (!std::isfinite(o.quantized.node_bits_penalty) || o.quantized.node_bits_penalty < 0.0)
    usage_fail("--node-bits-penalty: expected 0 or more, got {}", o.quantized.node_bits_penalty);
  if (o.quantized.bits_activations != "auto")
    usage_fail("--bits-activations: conflicts with --node-bits, which set those of activations");
  if (o.quantized.scales != "learned" || o.quantized.degree_quant > 0.0)
    usage_fail("{}: conflicts with --node-bits, which learns bits and step size per node",
               o.quantized.scales != "learned" ? "--scales running" : "--degree-quant");
  for (const int bits : quantization.activation_bits)
    if (bits > BitTensor::kMostBits)
      usage_fail(
          "--bits {}: expected 1 to 8 beside --node-bits, and --bits-weights 32 where weights are not "
          "to be quantised",
          o.quantized.bits);
}

}  // namespace

ModelFamily qgnn() {
  return {"train_qgnn",
          {"gcn", "gin"},
          quantized_options(
              {model_option("norm",
                            "none, batch (between the layers) or sums (also on the sums over neighbours)"),
               model_option("degree-quant"), model_option("degree-quant-least"), model_option("node-bits"),
               model_option("node-bits-penalty"), model_option("nodes")}),
          check_qgnn,
          made<Qgnn>,
          {.hidden = 64, .quantized = {.bits = "8"}},
          false};
}

}  // namespace adj::models
