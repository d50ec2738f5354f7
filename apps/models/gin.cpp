#include "model_options.h"
#include "models.h"

namespace adj::apps {

Program train_gin() {
  Program program{models::gin(), "Trains a graph isomorphism network (Xu et al. 2019)."};
  program.defaults.hidden = 64;
  program.defaults.norm = "batch";
  program.loaders = {"neighbor", "cluster", "saint"};
  program.options = [](auto add, Settings& s) {
    add_eps_option(add, s);
    add_stack_options(add, s);
  };
  return program;
}

}  // namespace adj::apps
