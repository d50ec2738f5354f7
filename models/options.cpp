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

}  // namespace

void read_options(ModelOptions& o, const std::vector<std::string>& names,
                  const std::map<std::string, std::string>& values) {
  const auto take = [&](const std::string& name, auto& field) {
    if (std::find(names.begin(), names.end(), name) == names.end()) return;
    const auto text = values.find(name);
    if (text == values.end()) throw UsageError(fmt::format("--{}: missing", name));
    set(name, text->second, field);
  };
  take("model", o.model);
  take("hidden", o.hidden);
  take("layers", o.layers);
  take("dropout", o.dropout);
  take("norm", o.norm);
  take("residual", o.residual);
  take("heads", o.heads);
  take("output-heads", o.output_heads);
  take("attention-dropout", o.attention_dropout);
  take("aggr", o.aggr);
  take("train-eps", o.train_eps);
  take("gate", o.gate);
  take("bits", o.bits);
  take("bits-weights", o.bits_weights);
  take("bits-activations", o.bits_activations);
  take("scales", o.scales);
  take("degree-quant", o.degree_quant);
  take("degree-quant-least", o.degree_quant_least);
  take("node-bits", o.node_bits);
  take("node-bits-penalty", o.node_bits_penalty);
  take("nodes", o.nodes);
  take("embedding", o.embedding);
  take("decoder", o.decoder);
  take("pool", o.pool);
  take("node-features", o.node_features);
}

}  // namespace adj::models
