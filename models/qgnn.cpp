#include "family.h"
#include "quantized.h"
#include "stack.h"
#include <adjoint/autograd/spmm.h>
#include <adjoint/core/carrier.h>
#include <adjoint/core/option_check.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/kernels/elementwise/bernoulli.h>

#include <algorithm>

namespace adj::models {

namespace {

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
///   gcn   s = norm(mean of x_q over N(i) and i itself) (Cluster-GCN, Chiang et al. 2019, eq. 10)
///         y = s_q W_q + b
///   gin   s = norm(x_q,i + sum of x_q over in-edges) (Xu et al. 2019, eq. 4.1, with an eps of 0)
///         h = relu(norm(s_q V_q + c)),  y = h_q W_q + b
///
/// Sums have a norm where `norm` is sums, because one scale quantises all their columns: of bags of words
/// these differ in size as words do in frequency, and what few bits leave of a rare word's is nothing. Norm
/// and relu stand behind all layers but the last, and dropout before a layer's quantisation. Weights of edges
/// do not count. docs/quantized.md lists its state.
struct Qgnn : NodeModel {
  Qgnn(int64_t in, int64_t out, const ModelOptions& o)
      : gin_(o.model == "gin"),
        p_(static_cast<float>(o.dropout)),
        degree_quant_(o.degree_quant),
        degree_quant_least_(o.degree_quant_least),
        name_(fmt::format("{} {}{}{}{}", gin_ ? "quantised GIN" : "quantised GCN",
                          dashed(widths_of(in, out, o)), describe_bits(o),
                          o.norm == "none"    ? ""
                          : o.norm == "batch" ? " batch-norm"
                                              : " batch-norm of sums",
                          o.degree_quant > 0.0 ? " degree-quant" : "")) {
    const std::vector<int64_t> widths = widths_of(in, out, o);
    const Quantization quantization(o);
    const bool norm = o.norm != "none";
    const auto relu = norm ? Activation::none : Activation::relu;  // a norm has its own
    for (size_t l = 0; l + 1 < widths.size(); ++l) {
      const bool last = l + 2 == widths.size();
      const nn::QuantLinearOptions output = quantization.linear(l, last ? Activation::none : relu);
      inputs_.add(quantization.input(l));
      if (o.norm == "sums") sum_norms_.add(widths[l]);
      if (gin_) {
        sums_.add(widths[l], o.hidden, quantization.linear(l, relu));
        if (norm) hidden_norms_.add(o.hidden);
        hidden_.add(o.hidden, widths[l + 1], output);
      } else {
        sums_.add(widths[l], widths[l + 1], output);
      }
      if (norm && !last) norms_.add(widths[l + 1]);
    }
  }

  Var operator()(const Graph& graph, const Features& features) override {
    const SparseMatrix& a = matrix_of(graph);
    const Tensor keep = protected_nodes(graph);
    Var x = input(features);
    for (size_t l = 0; l < sums_.size(); ++l) {
      x = spmm(a, dropout(inputs_[l](x, keep), p_));
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
  nn::ModuleList<nn::BatchNorm> sum_norms_{this, "sum_norms"};
  nn::ModuleList<nn::QuantLinear> sums_{this, "sums"};
  nn::ModuleList<nn::QuantLinear> hidden_{this, "hidden"};
  nn::ModuleList<nn::BatchNorm> hidden_norms_{this, "hidden_norms"};
  nn::ModuleList<nn::BatchNorm> norms_{this, "norms"};
};

void check(const ModelOptions& o) {
  expect_one_of("norm", o.norm, {"none", "batch", "sums"});
  expect_probability("degree-quant", o.degree_quant);
  expect_probability("degree-quant-least", o.degree_quant_least);
  if (o.degree_quant_least > o.degree_quant)
    throw UsageError(fmt::format("--degree-quant-least {}: expected no more than --degree-quant {}",
                                 o.degree_quant_least, o.degree_quant));
  (void)Quantization(o);
}

std::unique_ptr<Model> make(int64_t in, int64_t out, const ModelOptions& o) {
  return std::make_unique<nn::Model<Qgnn>>(in, out, o);
}

}  // namespace

ModelFamily qgnn() {
  return {"train_qgnn",
          {"gcn", "gin"},
          quantized_options({"norm", "degree-quant", "degree-quant-least"}),
          check,
          make};
}

}  // namespace adj::models
