#include "common.h"

using namespace adj;
using namespace adj::apps;

int main(int argc, char** argv) {
  Program program{models::gat(),
                  "Trains a graph attention network (Velickovic et al. 2018, Brody et al. 2022)."};
  program.defaults.lr = 0.005;
  program.defaults.epochs = 1000;
  program.defaults.patience = 100;
  program.defaults.patience_on = "either";  // the authors' rule, as the 100 are theirs
  program.loaders = {"neighbor", "cluster", "saint"};
  return train(argc, argv, program);
}
