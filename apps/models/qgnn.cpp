#include "model_options.h"
#include "models.h"
#include <adjoint/core/text.h>
#include <adjoint/optim/preprocessing.h>

namespace adj::apps {

namespace {

/// Weights of the best epoch of a training with --bits 32; quantizers have no scale yet, and the first batch
/// gives them one.
void begin(Model& model, const FeatureScaling& scaling, const Settings& s) {
  if (s.from == "none") return;
  optim::Checkpoint from = optim::load_checkpoint(s.from, "train_qgnn");
  for (const auto& [name, here] : {std::pair{"model", s.model},
                                   {"hidden", fmt::format("{}", s.hidden)},
                                   {"layers", fmt::format("{}", s.layers)},
                                   {"norm", s.norm}})
    if (const std::string& there = from.facts[fmt::format("option.{}", name)]; there != here)
      throw UsageError(fmt::format("--from {}: of a training with --{} {}, expected {}", s.from, name,
                                   excerpt(there), here));
  if (const auto kind = optim::Preprocessing::scaling_kind(from); kind != scaling.kind())
    throw UsageError(fmt::format("--from {}: of a training with --features-scaling {}, expected {}", s.from,
                                 name_of(kind), name_of(scaling.kind())));
  if (const int bits = optim::Preprocessing::feature_bits(from); bits != s.features_bits)
    throw UsageError(fmt::format("--from {}: of a training with --features-bits {}, expected {}", s.from,
                                 bits, s.features_bits));
  const std::string prefix = from.integer("best_epoch") < 0 ? "model." : "best.";
  for (const auto& [name, tensor] : from.tensors)
    if (name.starts_with(prefix) && name.ends_with(".scale"))
      throw UsageError(
          fmt::format("--from {}: of a quantised training, expected one with --bits 32", s.from));
  for (const auto& [name, tensor] : model.state())
    if (name.ends_with("scale") || name.ends_with("zero") || name.find(".nodes.") != std::string::npos)
      from.tensors.emplace(prefix + name, tensor);
  optim::load_weights(model, from, prefix);
}

}  // namespace

Program train_qgnn() {
  Program program{models::qgnn(),
                  "Trains a GCN or GIN whose products are of quantised numbers (QGTC, Wang et al. 2022)."};
  program.defaults.bits = "8";
  program.defaults.hidden = 64;
  program.defaults.evaluation = "graph";
  program.loaders = {"cluster", "saint"};
  program.decayed = "all parameters but the scales and bits of quantizers";
  program.options = [](auto add, Settings& s) {
    add_bits_options(add, s);
    add("norm", with_default(s.norm, "NAME"),
        "none, batch (between the layers) or sums (these, and of the sums over neighbours)")(
        "degree-quant", with_default(s.degree_quant, "P"),
        "probability by which a node of the largest in-degree passes a training step unquantised")(
        "degree-quant-least", with_default(s.degree_quant_least, "P"),
        "probability from which that one rises with the in-degree's rank")(
        "node-bits", with_default(s.node_bits, "B"),
        "mean bits of activations, of which each node learns its own and its step size (A2Q; 0: not by "
        "node)")("node-bits-penalty", with_default(s.node_bits_penalty, "X"),
                 "what a mean beyond that costs: X times nodes times its square");
  };
  program.training_options = [](auto add, Settings& s) {
    add("from", with_default(s.from, "FILE"),
        "begin with the weights of this checkpoint, of a training with --bits 32");
  };
  program.check = [](const Settings& s) {
    check_quantized_precision(s);
    if (s.node_bits > 0.0 && s.loader != "none")
      throw UsageError(fmt::format(
          "--loader {}: does not go with --node-bits, which are of the whole graph's nodes", s.loader));
  };
  program.begin = begin;
  return program;
}

}  // namespace adj::apps
