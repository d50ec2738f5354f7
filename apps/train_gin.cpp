#include "common.h"

using namespace adj;
using namespace adj::apps;

int main(int argc, char** argv) {
  Program program{models::gin(), "Trains a graph isomorphism network (Xu et al. 2019)."};
  program.loaders = {"neighbor", "cluster", "saint"};
  return train(argc, argv, program);
}
