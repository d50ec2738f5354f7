#include "models.h"

namespace adj::apps {

Program train_gcn() {
  Program program{models::gcn(), "Trains a graph convolutional network (Kipf & Welling 2017)."};
  program.loaders = {"cluster", "saint"};
  program.defaults.evaluation = "graph";
  program.decayed = "all convolutions but the last one, and on no norm (Kipf & Welling 2017)";
  program.options = [](auto add, Settings& s) {
    add("norm", with_default(s.norm, "NAME"), "between the layers: none or batch");
  };
  return program;
}

}  // namespace adj::apps
