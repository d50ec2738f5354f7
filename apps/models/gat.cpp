#include "model_options.h"
#include "models.h"

namespace adj::apps {

Program train_gat() {
  Program program{models::gat(),
                  "Trains a graph attention network (Velickovic et al. 2018, Brody et al. 2022)."};
  program.defaults.hidden = 8;
  program.defaults.heads = 8;
  program.defaults.dropout = program.defaults.attention_dropout = 0.6;
  program.defaults.lr = 0.005;
  program.defaults.epochs = 1000;
  program.defaults.patience = 100;
  program.defaults.patience_on = "either";  // the authors' rule, as the 100 are theirs
  program.loaders = {"neighbor", "cluster", "saint"};
  program.options = [](auto add, Settings& s) {
    add_head_options(add, s);
    add("output-heads", with_default(s.output_heads), "of the last layer, which averages them");
    add_stack_options(add, s);
  };
  return program;
}

}  // namespace adj::apps
