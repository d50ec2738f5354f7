#include "../common/graphs.h"
#include "model_options.h"
#include "models.h"

namespace adj::apps {

Program train_graph_gin() {
  Program program{models::graph_gin(),
                  "Trains a graph isomorphism network to classify graphs (Xu et al. 2019)."};
  program.defaults.split = "all";
  program.defaults.epochs = 350;
  program.defaults.layers = 4;
  program.defaults.hidden = 32;
  program.defaults.weight_decay = 0.0;
  program.defaults.batch_size = 32;
  program.defaults.iterations = 50;
  program.defaults.lr_halve = 50;
  program.options = [](auto add, Settings& s) {
    add_eps_option(add, s);
    add("pool", with_default(s.pool, "WAY"), "what a graph is made of its nodes by: sum, mean or max");
    add_graph_options(add, s);
  };
  program.check = check_graph_options;
  learn_graphs(program);
  return program;
}

}  // namespace adj::apps
