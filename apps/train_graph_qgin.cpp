#include "common.h"
#include "common/graphs.h"

using namespace adj;
using namespace adj::apps;

int main(int argc, char** argv) {
  Program program{
      models::graph_qgin(),
      "Trains a quantised graph isomorphism network to classify graphs (QGTC, Wang et al. 2022)."};
  learn_graphs(program);
  program.decayed = "all parameters but the scales of quantizers";
  return train(argc, argv, program);
}
