#include "common.h"
#include "common/graphs.h"

using namespace adj;
using namespace adj::apps;

int main(int argc, char** argv) {
  Program program{models::graph_gin(),
                  "Trains a graph isomorphism network to classify graphs (Xu et al. 2019)."};
  program.defaults.split = "all";
  program.defaults.epochs = 350;
  program.defaults.weight_decay = 0.0;
  program.defaults.batch_size = 32;
  program.defaults.iterations = 50;
  program.defaults.lr_halve = 50;
  learn_graphs(program);
  return train(argc, argv, program);
}
