#include "model_options.h"
#include "models.h"

namespace adj::apps {

Program train_transformer() {
  Program program{models::transformer(), "Trains a graph transformer (Shi et al. 2021)."};
  program.defaults.hidden = 16;
  program.defaults.heads = 4;
  program.defaults.norm = "layer";
  program.loaders = {"neighbor", "cluster", "saint"};
  program.options = [](auto add, Settings& s) {
    add_head_options(add, s);
    add("gate", boost::program_options::bool_switch(&s.gate),
        "mix attention and own features by a gate that is learnt");
    add_stack_options(add, s);
  };
  return program;
}

}  // namespace adj::apps
