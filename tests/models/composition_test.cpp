// Whole models against their layers put together by hand: order of layers, norms, activations, dropouts,
// residuals and readouts, for every option of every family.
#include "../nn/module_state.h"
#include "random_models.h"
#include <adjoint/autograd/segment.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/kernels/elementwise/dropout.h>
#include <adjoint/models/link.h>
#include <adjoint/nn/conv/agnn_conv.h>
#include <adjoint/nn/conv/gat_conv.h>
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/conv/gin_conv.h>
#include <adjoint/nn/conv/sage_conv.h>
#include <adjoint/nn/conv/transformer_conv.h>
#include <adjoint/nn/linear.h>
#include <adjoint/nn/norm/norm.h>
#include <adjoint/nn/quantizer.h>
#include <adjoint/ops.h>

#include <set>

using namespace adj;
using namespace adj::nn;
using namespace adj::test;
using models::ModelOptions;
using models::Norm;
using Aggr = models::SageAggregation;

namespace {

constexpr int64_t kNodes = 30, kIn = 6, kOut = 3;

/// The layers of a model, made anew from its state.
class Layers {
 public:
  Layers(const Module& model, Device device)
      : state_(copied(model)), training_(model.training()), device_(device) {}

  /// layer(inputs…), a T constructed by `make(…)` with the state of `name`; BatchNorm's statistics are
  /// copies.
  template <class T, class... Args>
  auto layer(const std::string& name, Args&&... args) {
    const uint64_t seed = default_generator().seed(), position = default_generator().position();
    auto module = std::make_unique<Model<T>>(std::forward<Args>(args)...);
    default_generator().set_state(seed, position);  // as before the draws of initial weights
    module->to(device_);
    std::map<std::string, Tensor> state;
    for (const auto& [entry, tensor] : state_)
      if (entry.starts_with(name + ".")) {
        state[entry.substr(name.size() + 1)] = tensor;
        used_.insert(entry);
      }
    module->load_state(state);
    module->train(training_);
    return module;
  }
  const Tensor& entry(const std::string& name) {
    used_.insert(name);
    return state_.at(name);
  }
  Var norm(models::Norm kind, const std::string& name, const Var& x) {
    if (kind == models::Norm::none) return x;
    return kind == models::Norm::batch ? (*layer<BatchNorm>(name, x.size(1)))(x)
                                       : (*layer<LayerNorm>(name, x.size(1)))(x);
  }
  Var drop(const Var& x, double p) const { return dropout(x, static_cast<float>(p), training_); }
  bool all_used() const { return used_.size() == state_.size(); }

 private:
  std::map<std::string, Tensor> state_;
  std::set<std::string> used_;
  bool training_;
  Device device_;
};

/// dropout(x), then conv(l, x), norm, activation, dropout for each hidden layer, residuals around all but the
/// first.
template <class Conv>
Var stacked(Layers& layers, const ModelOptions& o, Var x, Activation activation, const Conv& conv) {
  x = layers.drop(x, o.dropout);
  for (int64_t l = 0; l + 1 < o.layers; ++l) {
    const Var y = layers.norm(o.norm, fmt::format("norms.{}", l), conv(l, x));
    const Var z = layers.drop(activate(activation, y), o.dropout);
    x = o.residual && l > 0 ? x + z : z;
  }
  return conv(o.layers - 1, x);
}

std::string conv_name(int64_t l) { return fmt::format("convs.{}", l); }
int64_t width_of(const ModelOptions& o, int64_t l) { return l == 0 ? kIn : o.hidden; }
int64_t output_of(const ModelOptions& o, int64_t l) { return l + 1 == o.layers ? kOut : o.hidden; }

Var gcn_by_hand(Layers& layers, const ModelOptions& o, const Graph& graph, Var x) {
  const bool batch = o.norm == Norm::batch;
  for (int64_t l = 0; l < o.layers; ++l) {
    const bool last = l + 1 == o.layers;
    if (!batch) x = layers.drop(x, o.dropout);
    x = (*layers.layer<GCNConv>(conv_name(l), width_of(o, l), output_of(o, l)))(graph, x);
    if (last) break;
    x = relu(layers.norm(o.norm, fmt::format("norms.{}", l), x));
    if (batch) x = layers.drop(x, o.dropout);
  }
  return x;
}

Var sage_by_hand(Layers& layers, const ModelOptions& o, const Graph& graph, const Var& x) {
  const SAGEConvOptions options{.aggr = o.aggr == Aggr::mean ? Reduce::mean : Reduce::max,
                                .project = o.aggr == Aggr::pool};
  return stacked(layers, o, x, Activation::relu, [&](int64_t l, const Var& y) {
    return (*layers.layer<SAGEConv>(conv_name(l), width_of(o, l), output_of(o, l), options))(graph, y);
  });
}

Var gin_by_hand(Layers& layers, const ModelOptions& o, const Graph& graph, const Var& x) {
  return stacked(layers, o, x, Activation::relu, [&](int64_t l, const Var& y) {
    const std::vector<int64_t> net{width_of(o, l), o.hidden, output_of(o, l)};
    return (*layers.layer<GINConv<MLP>>(conv_name(l), GINConvOptions{.train_eps = o.train_eps}, net))(graph,
                                                                                                      y);
  });
}

template <class Conv, class Options>
Var attention_by_hand(Layers& layers, const ModelOptions& o, const Graph& graph, const Var& x,
                      Activation activation, int64_t output_heads) {
  return stacked(layers, o, x, activation, [&](int64_t l, const Var& y) {
    const bool last = l + 1 == o.layers;
    Options options{.heads = last ? output_heads : o.heads, .concat = !last};
    options.dropout = static_cast<float>(o.attention_dropout);
    if constexpr (requires { options.beta; }) options.beta = o.gate;
    return (*layers.layer<Conv>(conv_name(l), l == 0 ? kIn : o.heads * o.hidden, output_of(o, l), options))(
        graph, y);
  });
}

Var agnn_by_hand(Layers& layers, const ModelOptions& o, const Graph& graph, const Var& x) {
  Var y = relu((*layers.layer<Linear>("lin1", kIn, o.hidden))(layers.drop(x, o.dropout)));
  for (int64_t l = 0; l < o.layers; ++l)
    y = (*layers.layer<AGNNConv>(fmt::format("props.{}", l), AGNNConvOptions{.requires_grad = l > 0}))(graph,
                                                                                                       y);
  return (*layers.layer<Linear>("lin2", o.hidden, kOut))(layers.drop(y, o.dropout));
}

using ByHand = std::function<Var(Layers&, const ModelOptions&, const Graph&, const Var&)>;

struct Variant {
  models::ModelFamily family;
  ModelOptions options;
  ByHand by_hand;
  std::string name;                  ///< describe()
  std::vector<int64_t> summed = {};  ///< summed_widths()
  PropagationMatrix matrix = PropagationMatrix::none;
  bool exact = true;  ///< by layers
  size_t layers = 3;  ///< that take a block each
};

std::vector<Variant> variants() {
  const auto gat = [](Layers& l, const ModelOptions& o, const Graph& g, const Var& x) {
    return attention_by_hand<GATConv, GATConvOptions>(l, o, g, x, Activation::elu, o.output_heads);
  };
  const auto gatv2 = [](Layers& l, const ModelOptions& o, const Graph& g, const Var& x) {
    return attention_by_hand<GATv2Conv, GATv2ConvOptions>(l, o, g, x, Activation::elu, o.output_heads);
  };
  const auto transformer = [](Layers& l, const ModelOptions& o, const Graph& g, const Var& x) {
    return attention_by_hand<TransformerConv, TransformerConvOptions>(l, o, g, x, Activation::relu, o.heads);
  };
  using enum PropagationMatrix;
  return {
      {models::gcn(), {}, gcn_by_hand, "GCN 6-8-8-3", {6, 8, 3}, gcn, false},
      {models::gcn(), {.norm = Norm::batch}, gcn_by_hand, "GCN 6-8-8-3 batch-norm", {6, 8, 3}, gcn, false},
      {models::sage(), {}, sage_by_hand, "SAGE-mean 6-8-8-3", {6, 8, 3}, mean},
      {models::sage(), {.norm = Norm::batch, .aggr = Aggr::max}, sage_by_hand, "SAGE-max 6-8-8-3 batch-norm"},
      {models::sage(),
       {.norm = Norm::layer, .residual = true, .aggr = Aggr::pool},
       sage_by_hand,
       "SAGE-pool 6-8-8-3 layer-norm residual"},
      {models::gin(), {}, gin_by_hand, "GIN 6-8-8-3", {6, 8, 8}, sum},
      {models::gin(),
       {.norm = Norm::batch, .residual = true, .train_eps = true},
       gin_by_hand,
       "GIN 6-8-8-3 learnt eps batch-norm residual",
       {6, 8, 8},
       sum},
      {models::gat(), {.model = "gat"}, gat, "GAT 6-2x8-2x8-3"},
      {models::gat(),
       {.model = "gat", .norm = Norm::layer, .residual = true},
       gat,
       "GAT 6-2x8-2x8-3 layer-norm residual"},
      {models::gat(), {.model = "gatv2", .residual = true}, gatv2, "GATv2 6-2x8-2x8-3 residual"},
      {models::transformer(), {}, transformer, "Transformer 6-2x8-2x8-3"},
      {models::transformer(),
       {.norm = Norm::batch, .gate = true},
       transformer,
       "Transformer 6-2x8-2x8-3 gated batch-norm"},
      {models::agnn(), {}, agnn_by_hand, "AGNN 6-8-3, 3 propagations", {}, none, false, 0},
  };
}

/// Checks that the output of `model` in both modes equals that of `by_hand(layers)`, with the same draws.
template <class Run, class Hand>
void check_modes(Module& model, Device device, const Run& run, const Hand& hand) {
  for (const bool training : {false, true}) {
    CAPTURE(training);
    model.train(training);
    Layers layers(model, device);
    manual_seed(5);
    const Tensor expected = hand(layers).value();
    CHECK(layers.all_used());
    manual_seed(5);
    CHECK(close(run().value(), expected, 1e-5));
  }
}

}  // namespace

TEST_CASE("a model of nodes is its layers in order, with norm, activation, dropout and residual") {
  on_devices(421, DType::f32, [&](Draw& draw, Device device) {
    const Graph graph = draw.graph(kNodes, 120);
    const Tensor x = draw.normal({kNodes, kIn});
    for (const Variant& variant : variants()) {
      CAPTURE(variant.name);
      ModelOptions o = variant.options;
      o.hidden = 8;
      o.layers = 3;
      o.dropout = 0.4;
      o.heads = o.output_heads = 2;
      o.attention_dropout = 0.3;
      const auto model = variant.family.make_as<models::NodeModel>(kIn, kOut, o);
      model->to(device);
      randomise(*model, draw);
      CHECK(model->describe() == variant.name);
      CHECK(model->summed_widths() == variant.summed);
      CHECK(model->propagation_matrix() == variant.matrix);
      CHECK(model->exact_by_layers() == variant.exact);
      CHECK(variant.family.exact_by_layers(o) == variant.exact);
      CHECK(model->num_layers() == variant.layers);
      for (const auto& [name, parameter] : model->named_parameters()) {
        CAPTURE(name);
        const bool of_gcn = variant.name.starts_with("GCN");
        CHECK(model->decays(name) ==
              (!of_gcn || name.starts_with("convs.0.") || name.starts_with("convs.1.")));
      }
      check_modes(
          *model, device, [&] { return (*model)(graph, Features(x)); },
          [&](Layers& layers) { return variant.by_hand(layers, o, graph, Var(x)); });
    }
  });
}

TEST_CASE("a model of graphs reads out its pooled input and each layer's output, quantised or not") {
  on_devices(422, DType::f32, [&](Draw& draw, Device device) {
    const Graph graph = draw.graph(kNodes, 120);
    const Tensor x = draw.normal({kNodes, kIn}),
                 offsets = Tensor::from(std::vector<int64_t>{0, 7, 7, 20, 30}, device);
    for (const nn::GraphPool pool : {nn::GraphPool::sum, nn::GraphPool::mean, nn::GraphPool::max})
      for (const std::string bits : {"32", "4", "3,32,5"})
        for (const bool train_eps : {false, true}) {
          const bool quantised = bits != "32";
          if (quantised && train_eps) continue;
          CAPTURES(name_of(pool), bits, train_eps);
          ModelOptions o;
          o.hidden = 8;
          o.layers = 3;
          o.dropout = 0.4;
          o.train_eps = train_eps;
          o.graphs.pool = pool;
          o.quantized.bits = bits;
          const auto model = (quantised ? models::graph_qgin() : models::graph_gin())
                                 .make_as<models::GraphModel>(kIn, kOut, o);
          model->to(device);
          if (!quantised) randomise(*model, draw);
          (void)(*model)(graph, offsets, Features(x));  // sets the scales of quantizers
          CHECK(model->describe() == fmt::format("GIN 6-3x8-3 {}{}{}", name_of(pool),
                                                 train_eps ? " learnt eps" : "",
                                                 quantised ? fmt::format(" {} bits", bits) : ""));
          for (const auto& [name, parameter] : model->named_parameters())
            CHECK(model->decays(name) == !name.ends_with("log_scale"));
          const std::vector<int> of_layer = bits == "32"  ? std::vector{32, 32, 32}
                                            : bits == "4" ? std::vector{4, 4, 4}
                                                          : std::vector{3, 32, 5};
          const auto by_hand = [&](Layers& layers) {
            const auto input = [&](size_t l) {
              return layers.layer<Quantizer>(fmt::format("inputs.{}", l),
                                             QuantizerOptions{.bits = of_layer[std::min<size_t>(l, 2)]});
            };
            const auto linear = [&](const std::string& name, int64_t in, int64_t out, int width,
                                    const Var& y) {
              return (*layers.layer<QuantLinear>(
                  name, in, out, QuantLinearOptions{.weight_bits = width, .input_bits = width}))(y);
            };
            Var h = (*input(0))(Var(x)), logits;
            for (size_t l = 0;; ++l) {
              const Var pooled = pool == nn::GraphPool::sum    ? segment_sum(h, offsets)
                                 : pool == nn::GraphPool::mean ? segment_mean(h, offsets)
                                                               : segment_max(h, offsets);
              const int width = of_layer[std::min<size_t>(l, 2)] == 32 ? 32 : 8;
              const Var read = layers.drop(
                  linear(fmt::format("readouts.{}", l), h.size(1), kOut, width, pooled), o.dropout);
              logits = l == 0 ? read : logits + read;
              if (l == 3) return logits;
              const std::string conv = fmt::format("convs.{}", l);
              h = aggregate(graph, h) + h * (1.0 + layers.entry(conv + ".eps").item());
              h = linear(conv + ".nn.first", h.size(1), 8, of_layer[l], h);
              h = relu(layers.norm(Norm::batch, conv + ".nn.norm", h));
              h = linear(conv + ".nn.second", 8, 8, of_layer[l], h);
              h = relu(layers.norm(Norm::batch, fmt::format("norms.{}", l), h));
              h = (*input(l + 1))(h);
            }
          };
          check_modes(
              *model, device, [&] { return (*model)(graph, offsets, Features(x)); }, by_hand);
        }
  });
}

TEST_CASE("a model of links scores any number of pairs as its decoder does one by one") {
  on_devices(423, DType::f32, [&](Draw& draw, Device device) {
    constexpr int64_t kWidth = 5, kHidden = 4, kPairs = (int64_t{1} << 17) + 3;  // three chunks
    const Tensor z = draw.normal({kNodes, kWidth}), src = draw.ints(kPairs, 0, kNodes),
                 dst = draw.ints(kPairs, 0, kNodes);
    const Relation pairs = Relation::from_coo(kNodes, kNodes, src, dst);
    const std::vector<int32_t> a = src.to_vector<int32_t>(), b = dst.to_vector<int32_t>();
    const Dense rows(z);
    for (const std::string encoder : {"gcn", "sage", "gat"})
      for (const models::Decoder decoder : {models::Decoder::dot, models::Decoder::mlp}) {
        CAPTURES(encoder, name_of(decoder));
        ModelOptions o{
            .model = encoder, .hidden = kHidden, .links = {.embedding = kWidth, .decoder = decoder}};
        const auto model = models::link().make_as<models::LinkModel>(kIn, 1, o);
        model->to(device);
        randomise(*model, draw);
        model->eval();
        CHECK(model->exact_by_layers() == (encoder != "gcn"));
        CHECK(model->describe().ends_with(decoder == models::Decoder::mlp ? ", MLP decoder"
                                                                          : ", inner product"));
        CHECK(model->encoder().describe().find("-5") != std::string::npos);
        const bool mlp = decoder == models::Decoder::mlp;
        const auto entry = [&](const char* name) {
          return mlp ? Dense(copied(*model).at(std::string("decoder.lins.") + name)) : Dense(0, 0);
        };
        const Dense first = entry("0.weight"), second = entry("1.weight"), bias = entry("0.bias"),
                    last = entry("1.bias");
        std::vector<double> expected;
        for (size_t p = 0; p < a.size(); ++p) {
          double score = 0.0;
          for (int64_t c = 0; c < kWidth && !mlp; ++c) score += rows(a[p], c) * rows(b[p], c);
          for (int64_t h = 0; h < kHidden && mlp; ++h) {
            double unit = bias(h, 0);
            for (int64_t c = 0; c < kWidth; ++c) unit += rows(a[p], c) * rows(b[p], c) * first(c, h);
            score += relu_of(unit) * second(h, 0);
          }
          if (mlp) score += last(0, 0);
          expected.push_back(score);
        }
        const Tensor all = model->scores_of_all(z, pairs);
        REQUIRE(all.shape() == Shape{kPairs, 1});
        CHECK(close(all, expected, 1e-5));
        CHECK(close(model->scores(Var(z), pairs).value(), expected, 1e-5));
      }
  });
}

TEST_CASE("without a name the first encoder is meant, and without a hidden layer there are no embeddings") {
  const auto link = models::link().make_as<models::LinkModel>(kIn, 1, {.hidden = 4});
  CHECK(link->encoder().describe().starts_with("GCN "));
  for (const int64_t layers : {1, 2})
    for (const models::ModelFamily& family : {models::gcn(), models::sage(), models::qgnn()})
      CHECK(family.make_as<models::NodeModel>(kIn, kOut, {.hidden = 4, .layers = layers})->has_embeddings() ==
            (layers > 1));
}

TEST_CASE("a quantised model of nodes quantises inputs and sums, and protects nodes by their in-degree") {
  on_devices(424, DType::f32, [&](Draw& draw, Device device) {
    const Graph graph = draw.graph(kNodes, 120);
    const Tensor x = draw.normal({kNodes, kIn});
    const std::vector<double> degree = values(graph.in_degrees());
    for (const std::string kind : {"gcn", "gin"})
      for (const Norm norm : {Norm::none, Norm::batch, Norm::sums})
        for (const double most : {0.0, 0.9}) {
          CAPTURES(kind, name_of(norm), most);
          ModelOptions o{.model = kind, .hidden = 8, .layers = 2, .dropout = 0.4, .norm = norm};
          o.quantized.bits_weights = "5,32";
          o.quantized.bits_activations = "3,4";
          o.quantized.degree_quant = most;
          o.quantized.degree_quant_least = most / 3;
          const auto model = models::qgnn().make_as<models::NodeModel>(kIn, kOut, o);
          model->to(device);
          (void)(*model)(graph, Features(x));  // sets the scales of quantizers
          CHECK(model->describe() ==
                fmt::format("quantised {} 6-8-3 32 bits, weights 5,32, activations 3,4{}{}",
                            kind == "gin" ? "GIN" : "GCN",
                            norm == Norm::none    ? ""
                            : norm == Norm::batch ? " batch-norm"
                                                  : " batch-norm of sums",
                            most > 0.0 ? " degree-quant" : ""));
          for (const auto& [name, parameter] : model->named_parameters())
            CHECK(model->decays(name) == !name.ends_with("log_scale"));
          CHECK(model->num_layers() == 0);
          const auto by_hand = [&](Layers& layers) {
            Tensor keep;
            if (model->training() && most > 0.0) {
              std::vector<float> p;
              for (const double value : degree) {
                const auto no_larger =
                    std::count_if(degree.begin(), degree.end(), [&](double d) { return d <= value; });
                p.push_back(static_cast<float>(most / 3 +
                                               (most - most / 3) * static_cast<double>(no_larger) / kNodes));
              }
              keep = Tensor::empty({kNodes}, DType::u8, device);
              kernels::bernoulli(
                  {.p = Tensor::from(p, device), .key = default_generator().next(), .y = keep});
            }
            const bool gin = kind == "gin", normed = norm != Norm::none;
            const Relation looped =
                with_self_loops(graph.relation(), gin ? SelfLoops::added : SelfLoops::completed).relation;
            Var h(x);
            for (int l = 0; l < 2; ++l) {
              const QuantLinearOptions bits{.weight_bits = l == 0 ? 5 : 32, .input_bits = 3 + l};
              const auto place = [&](const char* name) { return fmt::format("{}.{}", name, l); };
              const auto then = [&](const char* name, const Var& y) {
                return relu(normed ? layers.norm(Norm::batch, place(name), y) : y);
              };
              h = layers.drop(
                  (*layers.layer<Quantizer>(place("inputs"), QuantizerOptions{.bits = 3 + l}))(h, keep),
                  o.dropout);
              h = aggregate(looped, h, {.reduce = gin ? Reduce::sum : Reduce::mean});
              if (norm == Norm::sums) h = layers.norm(Norm::batch, place("sum_norms"), h);
              h = (*layers.layer<QuantLinear>(place("sums"), width_of(o, l),
                                              gin      ? 8
                                              : l == 0 ? 8
                                                       : kOut,
                                              bits))(h, keep);
              if (gin) {
                h = then("hidden_norms", h);
                h = (*layers.layer<QuantLinear>(place("hidden"), 8, l == 0 ? 8 : kOut, bits))(h, keep);
              }
              if (l == 0) h = then("norms", h);
            }
            return h;
          };
          check_modes(
              *model, device, [&] { return (*model)(graph, Features(x)); }, by_hand);
        }
  });
}
