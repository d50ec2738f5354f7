#include "models.h"

namespace adj::apps {

Program train_agnn() {
  Program program{models::agnn(),
                  "Trains an attention-based graph neural network (Thekumparampil et al. 2018)."};
  program.loaders = {"cluster", "saint"};
  program.defaults.evaluation = "graph";
  return program;
}

}  // namespace adj::apps
