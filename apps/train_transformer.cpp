#include "common.h"

using namespace adj;
using namespace adj::apps;

int main(int argc, char** argv) {
  Program program{models::transformer(), "Trains a graph transformer (Shi et al. 2021)."};
  program.loaders = {"neighbor", "cluster", "saint"};
  return train(argc, argv, program);
}
