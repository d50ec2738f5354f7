#include "common/train.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

using namespace adj;
using namespace adj::training;

int main(int argc, char** argv) {
  Options options(models::sage(),
                  "Trains GraphSAGE (Hamilton et al. 2017) on the whole graph or mini-batches.");
  options.batches.loaders = {neighbor_loader(), cluster_loader(), saint_loader()};
  return apps::train_nodes(argc, argv, options);
}
