#include "common.h"

using namespace adj;
using namespace adj::apps;

int main(int argc, char** argv) {
  Program program{models::gcn(), "Trains a graph convolutional network (Kipf & Welling 2017)."};
  program.loaders = {"neighbor", "cluster", "saint"};
  program.defaults.evaluation = "graph";
  program.decayed = "all convolutions but the last one, and on no norm (Kipf & Welling 2017)";
  return train(argc, argv, program);
}
