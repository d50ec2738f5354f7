#include <adjoint/core/error.h>
#include <adjoint/core/option_check.h>
#include <adjoint/core/text.h>
#include <adjoint/models/options.h>

#include <algorithm>

namespace adj::models {

namespace {

void set(const ModelOption& option, const std::string& text, int64_t& value) {
  value = read_integer(option.name, text, option.range);
}
void set(const ModelOption& option, const std::string& text, double& value) {
  value = read_number(option.name, text, option.range);
}
void set(const ModelOption& option, const std::string& text, bool& value) {
  if (text != "true" && text != "false" && text != "1" && text != "0")
    usage_fail("--{}: expected true or false, got '{}'", option.name, excerpt(text));
  value = text == "true" || text == "1";
}
void set(const ModelOption&, const std::string& text, std::string& value) { value = text; }
void set(const ModelOption& option, const std::string& text, const Choice& choice) {
  choice.set(option.name, text);
}

constexpr int64_t kWidest = 1 << 20;

using O = ModelOptions;
using Q = QuantizedModelOptions;
using L = LinkModelOptions;
using G = GraphModelOptions;
using T = TypedModelOptions;

/// The field o.*path[0].*path[1]…
template <auto... path>
auto& at(O& o) {
  return (o.*....*path);
}

/// The same for an enum, of which all values are offered.
template <auto... path>
Choice any(O& o) {
  return &(o.*....*path);
}

const std::vector<ModelOption>& all_options() {
  static const std::vector<ModelOption> all{
      {"model", at<&O::model>, "NAME", "model of the family"},
      {"hidden", at<&O::hidden>, "N", "width of the hidden layers", "", IntegerRange{1, kWidest}},
      {"layers", at<&O::layers>, "N", "number of layers", "", IntegerRange{1, 1000}},
      {"dropout", at<&O::dropout>, "P", "dropout probability", "", kProbability},
      {"norm", any<&O::norm>, "NAME", "norm between the layers: none, batch or layer"},
      {"residual", at<&O::residual>, "", "residual connections around the hidden layers"},
      {"heads", at<&O::heads>, "N", "heads of a hidden layer, each of width --hidden", "",
       IntegerRange{1, 1 << 12}},
      {"output-heads", at<&O::output_heads>, "N", "heads of the last layer, which are averaged", "",
       IntegerRange{1, 1 << 12}},
      {"attention-dropout", at<&O::attention_dropout>, "P", "dropout probability of attention coefficients",
       "", kProbability},
      {"aggr", any<&O::aggr>, "NAME", "aggregation of neighbours: mean, max or pool"},
      {"train-eps", at<&O::train_eps>, "",
       "learn the weight of the node itself (default: weight of a neighbour)"},
      {"gate", at<&O::gate>, "", "learned gate between attention and own features"},
      {"bits", at<&O::quantized, &Q::bits>, "B",
       "bits of weights and activations, 1 to 8, or 32 (not quantised); or one number per layer, as 8,4,2"},
      {"bits-weights", at<&O::quantized, &Q::bits_weights>, "B", "the same, for weights (auto: --bits)"},
      {"bits-activations", at<&O::quantized, &Q::bits_activations>, "B",
       "the same, for features, sums over neighbours and hidden features (auto: --bits)"},
      {"scales", any<&O::quantized, &Q::scales>, "METHOD",
       "scales of quantizers: learned (LSQ) or running (moving mean of the batches' ranges)"},
      {"degree-quant", at<&O::quantized, &Q::degree_quant>, "P",
       "probability that a node of the largest in-degree stays unquantised in a training step", "",
       kProbability},
      {"degree-quant-least", at<&O::quantized, &Q::degree_quant_least>, "P",
       "that probability for the lowest in-degree; it rises with the in-degree's rank", "", kProbability},
      {"embedding", at<&O::links, &L::embedding>, "N", "width of a node's embedding (0: --hidden)", "",
       IntegerRange{0, kWidest}},
      {"decoder", any<&O::links, &L::decoder>, "NAME",
       "dot (inner product of the embeddings) or mlp (MLP on their elementwise product)"},
      {"bases", at<&O::types, &T::bases>, "B",
       "bases of which the weights of all relations are combinations (0: each has its own)", "",
       IntegerRange{0, 1 << 16}},
      {"inputs", any<&O::types, &T::inputs>, "WHAT",
       "of the first layer: embedding (linear maps of the types' features, and a learnt embedding of each "
       "node "
       "of types without), one-hot (without features: weights of each node in each relation) or auto "
       "(one-hot "
       "up to 2^26 weights)"},
      {"pool", any<&O::graphs, &G::pool>, "METHOD",
       "pooling of a graph's nodes: sum, mean, max, attention, set2set, or mean and max of the best by topk "
       "or "
       "sag"},
      {"pool-ratio", at<&O::graphs, &G::pool_ratio>, "R", "share of nodes that --pool topk or sag keeps",
       "0.5", NumberRange{0.01, 1.0}},
      {"positional", any<&O::positional>, "WHAT",
       "positional encoding beside the features: none, laplacian (eigenvectors; a graph transformer "
       "trains with random signs of them), random-walk (chances of being back after 1, 2, ... steps) or "
       "degree (log of 1 + in-degree)",
       "none"},
      {"positional-size", at<&O::positional_size>, "N", "columns of --positional laplacian or random-walk",
       "8", IntegerRange{1, 1000}},
      {"node-features", any<&O::node_features>, "WHAT",
       "file; or without its features: constant (1), degree (the in-degree), one-hot-degree, random-walk "
       "(chances of being back after 1, 2, ... steps) or learned (an embedding of each node; only for the "
       "training's own graph)",
       "file"},
      {"walk-steps", at<&O::walk_steps>, "N", "steps of --node-features random-walk", "16",
       IntegerRange{1, 1000}},
  };
  return all;
}

}  // namespace

ModelOption model_option(const std::string& name, const std::string& help) {
  const auto& all = all_options();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& o) { return o.name == name; });
  ADJ_CHECK(found != all.end(), "no model has an option '{}'", name);
  ModelOption option = *found;
  if (!help.empty()) option.help = help;
  return option;
}

std::vector<ModelOption> model_options(const std::vector<std::string>& names) {
  std::vector<ModelOption> options;
  for (const std::string& name : names) options.push_back(model_option(name));
  return options;
}

void read_options(ModelOptions& o, const std::vector<ModelOption>& which,
                  const std::map<std::string, std::string>& values) {
  for (const ModelOption& option : which) {
    const auto text = values.find(option.name);
    if (text == values.end()) usage_fail("--{}: missing", option.name);
    std::visit([&](auto field) { set(option, text->second, field(o)); }, option.field);
  }
}

}  // namespace adj::models
