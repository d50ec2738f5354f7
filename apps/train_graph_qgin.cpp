#include "common/train.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

using namespace adj;
using namespace adj::training;

int main(int argc, char** argv) {
  Options options(
      models::graph_qgin(),
      "Trains a quantised graph isomorphism network to classify graphs (QGTC, Wang et al. 2022).");
  options.decayed = "all parameters except the scales of quantizers";
  return apps::train_graphs(argc, argv, options);
}
