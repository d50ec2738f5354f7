#include "common/train.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

using namespace adj;
using namespace adj::training;

int main(int argc, char** argv) {
  Options options(models::gat(),
                  "Trains a graph attention network (Velickovic et al. 2018, Brody et al. 2022).");
  options.batches.loaders = {neighbor_loader(), cluster_loader(), saint_loader()};
  options.run.lr = 0.005;
  options.run.epochs = 1000;
  options.run.patience = 100;
  options.run.patience_on = "either";  // the authors' rule, like the patience of 100
  return apps::train_nodes(argc, argv, options);
}
