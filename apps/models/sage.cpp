#include "model_options.h"
#include "models.h"

namespace adj::apps {

Program train_sage() {
  Program program{models::sage(),
                  "Trains GraphSAGE (Hamilton et al. 2017) on the whole graph or mini-batches."};
  program.defaults.hidden = 64;
  program.loaders = {"neighbor", "cluster", "saint"};
  program.options = [](auto add, Settings& s) {
    add("aggr", with_default(s.aggr, "NAME"), "of neighbours: mean, max or pool");
    add_stack_options(add, s);
  };
  return program;
}

}  // namespace adj::apps
