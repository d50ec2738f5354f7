#include <adjoint/core/option_check.h>
#include <adjoint/graph/all_pairs.h>
#include <adjoint/models/family.h>
#include <adjoint/models/stack.h>
#include <adjoint/nn/conv/gin_conv.h>
#include <adjoint/nn/conv/gps_conv.h>
#include <adjoint/nn/pooling.h>

#include <functional>

namespace adj::models {

namespace {

/// GPS (Rampášek et al. 2022): features mapped to one width, then layers of a GIN with a network of one
/// hidden layer beside attention between all nodes of a graph.
struct GpsLayers : nn::Module {
  GpsLayers(int64_t in, const ModelOptions& o)
      : input(this, "input", in, o.hidden),
        first_of_random_sign(o.positional == Positional::laplacian ? in - o.positional_size : in) {
    const nn::GPSConvOptions options{.heads = o.heads,
                                     .dropout = static_cast<float>(o.dropout),
                                     .attention_dropout = static_cast<float>(o.attention_dropout)};
    for (int64_t l = 0; l < o.layers; ++l)
      layers.add(o.hidden, options, nn::GINConvOptions{}, std::vector<int64_t>(3, o.hidden));
  }
  /// `offsets` makes those of the graphs, for the pairs, which are made once: a captured step copies nothing.
  Var operator()(const Graph& graph, const std::function<Tensor()>& offsets, const Features& x) const {
    const Relation& pairs = pairs_of(graph, offsets);
    Var h = embed(x.to(input.weight.value().dtype()));
    for (const auto& layer : layers) h = layer(graph, pairs, h);
    return h;
  }
  /// In training each eigenvector has a random sign, as all are eigenvectors (Dwivedi et al. 2023, section
  /// 4.1): a sign of a column is one of a row of the weight.
  Var embed(const Features& x) const {
    const Tensor& weight = input.weight.value();
    if (!training() || first_of_random_sign == weight.size(0)) return input(x);
    const Tensor ones = Tensor::full({weight.size(0), 1}, 1.0, weight.dtype(), weight.device());
    Tensor chosen = Tensor::zeros(ones.shape(), weight.dtype(), weight.device());
    chosen.rows(first_of_random_sign, weight.size(0)).fill_(1.0);
    const Var drawn = dropout(Var(ones), 0.5f);  // 0 or 2
    return linear(x, input.weight * (1.0 + (drawn - 2.0) * Var(chosen)), input.bias);
  }
  const Relation& pairs_of(const Graph& graph, const std::function<Tensor()>& offsets) const {
    struct Pairs {
      Relation relation;
    };
    return graph.relation()
        .cache()
        .get<Pairs>([&] { return std::make_unique<Pairs>(Pairs{all_pairs(offsets())}); })
        ->relation;
  }
  std::string describe() const override { return "GpsLayers"; }

  nn::Child<nn::Linear> input;
  int64_t first_of_random_sign;  // among the inputs
  nn::ModuleList<nn::GPSConv<nn::GINConv<nn::MLP>>> layers{this, "layers"};
};

std::string name_of_gps(int64_t in, int64_t out, const ModelOptions& o) {
  return fmt::format("GPS {}-{}x{}-{} heads {}", in, o.layers, o.hidden, out, o.heads);
}

/// The last layer is a linear map.
struct Gps : NodeModel {
  Gps(int64_t in, int64_t out, const ModelOptions& o)
      : body(this, "body", in, o), output(this, "output", o.hidden, out), name(name_of_gps(in, out, o)) {}
  Var operator()(const Graph& graph, const Features& x) const override {
    return output(embeddings(graph, x));
  }
  Var embeddings(const Graph& graph, const Features& x) const override {
    return body(graph, whole(graph), x);
  }
  void prepare(const Graph& graph) const override { (void)body.pairs_of(graph, whole(graph)); }
  std::string describe() const override { return name; }

  /// Offsets of one graph of all nodes.
  static std::function<Tensor()> whole(const Graph& graph) {
    if (graph.relation().is_rank_part())
      usage_fail(
          "--devices: conflicts with attention between all nodes, which no rank has; expected --device");
    return [&graph] {
      return Tensor::from(std::vector<int64_t>{0, graph.num_nodes()}, graph.relation().device());
    };
  }

  nn::Child<GpsLayers> body;
  nn::Child<nn::Linear> output;
  std::string name;
};

/// The pooled output of the last layer goes through a network of one hidden layer.
struct GraphGps : GraphModel {
  GraphGps(int64_t in, int64_t out, const ModelOptions& o)
      : body(this, "body", in, o),
        pool(this, "pool", o.graphs.pool, o.hidden, nn::GraphPoolingOptions{.ratio = o.graphs.pool_ratio}),
        output(this, "output", {pool.width(), o.hidden, out}),
        name(name_of_gps(in, out, o) + fmt::format(" {}", adj::name_of(o.graphs.pool))) {}
  Var operator()(const Graph& graph, const Tensor& offsets, const Features& x) const override {
    return output(embeddings(graph, offsets, x));
  }
  Var embeddings(const Graph& graph, const Tensor& offsets, const Features& x) const override {
    const Var nodes = body(
        graph, [&] { return offsets; }, x);
    return pool(graph, nodes, offsets);
  }
  std::string describe() const override { return name; }

  nn::Child<GpsLayers> body;
  nn::Child<nn::GraphPooling> pool;
  nn::Child<nn::MLP> output;
  std::string name;
};

void check_gps(const ModelOptions& o) {
  if (o.hidden % o.heads != 0)
    usage_fail("--heads: {} heads share --hidden {}, expected a divisor of it", o.heads, o.hidden);
}

ModelFamily family_of(const char* program, const char* model, std::vector<ModelOption> options) {
  options.insert(options.begin(),
                 model_option("heads", "heads of each layer, which share the width --hidden"));
  ModelFamily family{program, {model}, std::move(options), check_gps};
  family.defaults = {.hidden = 64, .layers = 3, .dropout = 0.1, .heads = 4};
  family.in_pyg = false;
  return family;
}

}  // namespace

ModelFamily gps() {
  ModelFamily family = family_of("train_gps", "gps", model_options({"attention-dropout"}));
  family.make_checked = construct<Gps>;
  return family;
}

ModelFamily graph_gps() {
  ModelFamily family =
      family_of("train_graph_gps", "graph-gps", model_options({"attention-dropout", "pool", "pool-ratio"}));
  family.make_checked = construct<GraphGps>;
  return family;
}

}  // namespace adj::models
