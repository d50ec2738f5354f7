#include <adjoint/autograd/edge.h>
#include <adjoint/core/detail/carrier.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/kernels/elementwise/dropout.h>
#include <adjoint/models/family.h>
#include <adjoint/models/quantized.h>
#include <adjoint/models/stack.h>

#include <algorithm>

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
/// dropout precedes a layer's quantisation. Edge weights are ignored. docs/quantized.md lists the state.
struct Qgnn : NodeModel {
  Qgnn(int64_t in, int64_t out, const ModelOptions& o)
      : gin_(o.model == "gin"),
        p_(static_cast<float>(o.dropout)),
        degree_quant_(o.quantized.degree_quant),
        degree_quant_least_(o.quantized.degree_quant_least),
        name_(fmt::format("{} {}{}{}{}", gin_ ? "quantised GIN" : "quantised GCN",
                          dashed(widths_of(in, out, o)), describe_bits(o),
                          o.norm == Norm::none    ? ""
                          : o.norm == Norm::batch ? " batch-norm"
                                                  : " batch-norm of sums",
                          o.quantized.degree_quant > 0.0 ? " degree-quant" : "")) {
    const std::vector<int64_t> widths = widths_of(in, out, o);
    const Quantization quantization(o);
    const bool norm = o.norm != Norm::none;
    const auto relu = norm ? Activation::none : Activation::relu;  // a norm includes its own relu
    const auto add_norm = [&](nn::ModuleList<nn::BatchNorm>& norms, int64_t width) {
      norms.add(width, nn::BatchNormOptions{.momentum = o.norm_momentum});
    };
    for (size_t l = 0; l + 1 < widths.size(); ++l) {
      const bool last = l + 2 == widths.size();
      const nn::QuantLinearOptions output = quantization.linear(l, last ? Activation::none : relu);
      inputs_.add(quantization.input(l));
      if (o.norm == Norm::sums) add_norm(sum_norms_, widths[l]);
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
    return through(sums_.size(), graph, features);
  }
  Var embeddings(const Graph& graph, const Features& features) const override {
    if (!has_embeddings()) return NodeModel::embeddings(graph, features);
    return through(sums_.size() - 1, graph, features);
  }
  bool has_embeddings() const override { return sums_.size() > 1; }
  std::optional<int64_t> hops() const override { return static_cast<int64_t>(sums_.size()); }
  /// The output of the first `layers` layers.
  Var through(size_t layers, const Graph& graph, const Features& features) const {
    const SparseMatrix& a = matrix_of(graph);
    const Tensor keep = protected_nodes(graph);
    Var x = input(features);
    for (size_t l = 0; l < layers; ++l) {
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

  /// Excludes scales: smaller ones do not make a simpler model.
  bool decays(const std::string& parameter) const override { return !parameter.ends_with("log_scale"); }
  std::string describe() const override { return name_; }

 private:
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
  double degree_quant_, degree_quant_least_;
  std::string name_;
  nn::ModuleList<nn::Quantizer> inputs_{this, "inputs"};
  nn::ModuleList<nn::BatchNorm> sum_norms_{this, "sum_norms"};
  nn::ModuleList<nn::QuantLinear> sums_{this, "sums"};
  nn::ModuleList<nn::QuantLinear> hidden_{this, "hidden"};
  nn::ModuleList<nn::BatchNorm> hidden_norms_{this, "hidden_norms"};
  nn::ModuleList<nn::BatchNorm> norms_{this, "norms"};
};

void check_qgnn(const ModelOptions& o) {
  if (o.quantized.degree_quant_least > o.quantized.degree_quant)
    usage_fail("--degree-quant-least {}: expected no more than --degree-quant {}",
               o.quantized.degree_quant_least, o.quantized.degree_quant);
  (void)Quantization(o);  // checks the bits
}

}  // namespace

ModelFamily qgnn() {
  return {
      "train_qgnn",
      {"gcn", "gin"},
      quantized_options({norm_option<Norm::none, Norm::batch, Norm::sums>(
                             "none, batch (between the layers) or sums (also on the sums over neighbours)"),
                         model_option("degree-quant"), model_option("degree-quant-least")}),
      check_qgnn,
      construct<Qgnn>,
      {.hidden = 64, .quantized = {.bits = "8"}},
      false};
}

}  // namespace adj::models
