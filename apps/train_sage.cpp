#include "common.h"

using namespace adj;
using namespace adj::apps;

int main(int argc, char** argv) {
  Program program{models::sage(),
                  "Trains GraphSAGE (Hamilton et al. 2017) on the whole graph or mini-batches."};
  program.loaders = {"neighbor", "cluster", "saint"};
  return train(argc, argv, program);
}
