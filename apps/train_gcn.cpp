#include "common/train.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

using namespace adj;
using namespace adj::training;

int main(int argc, char** argv) {
  Options options(models::gcn(), "Trains a graph convolutional network (Kipf & Welling 2017).");
  options.batches.loaders = {neighbor_loader(), cluster_loader(), saint_loader()};
  options.batches.evaluation = "graph";
  options.decayed = "all convolutions but the last, no norm (Kipf & Welling 2017)";
  return apps::train_nodes(argc, argv, options);
}
