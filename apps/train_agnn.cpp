#include "common.h"

using namespace adj;
using namespace adj::apps;

int main(int argc, char** argv) {
  Program program{models::agnn(),
                  "Trains an attention-based graph neural network (Thekumparampil et al. 2018)."};
  program.loaders = {"cluster", "saint"};
  program.defaults.evaluation = "graph";
  return train(argc, argv, program);
}
