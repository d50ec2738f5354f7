#include "common.h"
#include "common/graphs.h"

using namespace adj;
using namespace adj::apps;

int main(int argc, char** argv) {
  Program program{
      models::graph_qgin(),
      "Trains a quantised graph isomorphism network to classify graphs (QGTC, Wang et al. 2022)."};
  program.defaults.split = "all";
  program.defaults.epochs = 350;
  program.defaults.weight_decay = 0.0;
  program.defaults.batch_size = 32;
  program.defaults.iterations = 50;
  program.defaults.lr_halve = 50;
  learn_graphs(program);
  program.decayed = "all parameters but the scales of quantizers";
  return train(argc, argv, program);
}
