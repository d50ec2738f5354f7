#include "common/train.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

using namespace adj;
using namespace adj::training;

int main(int argc, char** argv) {
  Options options(models::agnn(),
                  "Trains an attention-based graph neural network (Thekumparampil et al. 2018).");
  options.batches.loaders = {cluster_loader(), saint_loader()};
  options.batches.evaluation = "graph";
  options.batches.by_layers = false;
  return apps::train_nodes(argc, argv, options);
}
