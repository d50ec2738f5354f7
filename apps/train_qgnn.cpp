#include "common.h"
#include <adjoint/core/text.h>
#include <adjoint/models/preprocessing.h>

using namespace adj;
using namespace adj::apps;

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

int main(int argc, char** argv) {
  Program program{models::qgnn(),
                  "Trains a GCN or GIN whose products are of quantised numbers (QGTC, Wang et al. 2022)."};
  program.defaults.evaluation = "graph";
  program.loaders = {"cluster", "saint"};
  program.decayed = "all parameters but the scales and bits of quantizers";
  program.training_options = [](auto add, Settings& s) {
    add("from", with_default(s.from, "FILE"),
        "begin with the weights of this checkpoint, of a training with --bits 32");
  };
  program.check = [](const Settings& s) {
    if (s.node_bits > 0.0 && s.loader != "none")
      throw UsageError(fmt::format(
          "--loader {}: does not go with --node-bits, which are of the whole graph's nodes", s.loader));
  };
  program.begin = begin;
  return train(argc, argv, program);
}
