#include "model_options.h"

namespace adj::apps {

void add_stack_options(AddOption& add, Settings& s) {
  add("norm", with_default(s.norm, "NAME"), "between the layers: none, batch or layer")(
      "residual", boost::program_options::bool_switch(&s.residual),
      "add what enters a hidden layer to what leaves it");
}

void add_head_options(AddOption& add, Settings& s) {
  add("heads", with_default(s.heads), "of a hidden layer, each as wide as --hidden says")(
      "attention-dropout", with_default(s.attention_dropout, "P"),
      "probability of dropping an attention coefficient");
}

void add_eps_option(AddOption& add, Settings& s) {
  add("train-eps", boost::program_options::bool_switch(&s.train_eps),
      "learn how much a node itself counts, else it counts as a neighbour");
}

void add_bits_options(AddOption& add, Settings& s) {
  add("bits", with_default(s.bits, "B"),
      "of weights and activations, 1 to 8, or 32 (not quantised); or one number for each layer, as 8,4,2")(
      "bits-weights", with_default(s.bits_weights, "B"), "likewise, of weights alone (auto: --bits)")(
      "bits-activations", with_default(s.bits_activations, "B"),
      "likewise, of features, sums over neighbours and hidden features")(
      "scales", with_default(s.scales, "WAY"),
      "of quantizers: learned (LSQ) or running (a moving mean of the batches' ranges)");
}

void check_quantized_precision(const Settings& s) {
  if (s.precision == "bfloat16")
    throw UsageError(
        "--precision bfloat16: quantised numbers are float32 until they are bits, expected float32 or tf32");
}

}  // namespace adj::apps
