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

}  // namespace adj::apps
