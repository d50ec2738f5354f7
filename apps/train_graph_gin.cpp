#include "common/train.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

using namespace adj;
using namespace adj::training;

int main(int argc, char** argv) {
  Options options(models::graph_gin(),
                  "Trains a graph isomorphism network to classify graphs (Xu et al. 2019).");
  return apps::train_graphs(argc, argv, options);
}
