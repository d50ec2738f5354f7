#include "options.h"

#include <adjoint/core/error.h>
#include <adjoint/core/text.h>

#include <algorithm>
#include <charconv>

namespace adj::models {

namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& text, const char* expected) {
  throw UsageError(fmt::format("--{}: expected {}, got '{}'", name, expected, excerpt(text)));
}

template <class Number>
void parse(const std::string& name, const std::string& text, Number& value, const char* expected) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) refuse(name, text, expected);
}

void set(const std::string& name, const std::string& text, int64_t& value) {
  parse(name, text, value, "an integer");
}
void set(const std::string& name, const std::string& text, double& value) {
  parse(name, text, value, "a number");
}
void set(const std::string& name, const std::string& text, bool& value) {
  if (text != "true" && text != "false" && text != "1" && text != "0") refuse(name, text, "true or false");
  value = text == "true" || text == "1";
}
void set(const std::string&, const std::string& text, std::string& value) { value = text; }

using O = ModelOptions;

const std::vector<ModelOption>& all_options() {
  static const std::vector<ModelOption> all{
      {"model", &O::model, "NAME", "which of the family's models"},
      {"hidden", &O::hidden, "N", "width of the hidden layers"},
      {"layers", &O::layers, "N", "number of layers"},
      {"dropout", &O::dropout, "P", "probability of dropping"},
      {"norm", &O::norm, "NAME", "between the layers: none, batch or layer"},
      {"residual", &O::residual, "", "add what enters a hidden layer to what leaves it"},
      {"heads", &O::heads, "N", "of a hidden layer, each as wide as --hidden says"},
      {"output-heads", &O::output_heads, "N", "of the last layer, which averages them"},
      {"attention-dropout", &O::attention_dropout, "P", "probability of dropping an attention coefficient"},
      {"aggr", &O::aggr, "NAME", "of neighbours: mean, max or pool"},
      {"train-eps", &O::train_eps, "", "learn how much a node itself counts, else it counts as a neighbour"},
      {"gate", &O::gate, "", "mix attention and own features by a gate that is learnt"},
      {"bits", &O::bits, "B",
       "of weights and activations, 1 to 8, or 32 (not quantised); or one number for each layer, as 8,4,2"},
      {"bits-weights", &O::bits_weights, "B", "likewise, of weights alone (auto: --bits)"},
      {"bits-activations", &O::bits_activations, "B",
       "likewise, of features, sums over neighbours and hidden features"},
      {"scales", &O::scales, "WAY",
       "of quantizers: learned (LSQ) or running (a moving mean of the batches' ranges)"},
      {"degree-quant", &O::degree_quant, "P",
       "probability by which a node of the largest in-degree passes a training step unquantised"},
      {"degree-quant-least", &O::degree_quant_least, "P",
       "probability from which that one rises with the in-degree's rank"},
      {"node-bits", &O::node_bits, "B",
       "mean bits of activations, of which each node learns its own and its step size (A2Q; 0: not by node)"},
      {"node-bits-penalty", &O::node_bits_penalty, "X",
       "what a mean beyond that costs: X times nodes times its square"},
      {"nodes", &O::nodes, "N", ""},
      {"embedding", &O::embedding, "N", "width of a node's embedding (0: --hidden)"},
      {"decoder", &O::decoder, "NAME",
       "dot (inner product of the embeddings) or mlp (of their elementwise product)"},
      {"pool", &O::pool, "WAY", "what a graph is made of its nodes by: sum, mean or max"},
      {"node-features", &O::node_features, "WHAT", "file, constant (1), or degree (its in-edges, one-hot)"},
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
    if (text == values.end()) throw UsageError(fmt::format("--{}: missing", option.name));
    std::visit([&](auto field) { set(option.name, text->second, o.*field); }, option.field);
  }
}

}  // namespace adj::models
