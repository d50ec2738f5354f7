#include "common.h"
#include "common/graphs.h"

using namespace adj;
using namespace adj::apps;

int main(int argc, char** argv) {
  Program program{models::graph_gin(),
                  "Trains a graph isomorphism network to classify graphs (Xu et al. 2019)."};
  learn_graphs(program);
  return train(argc, argv, program);
}
