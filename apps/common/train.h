#pragma once

#include <adjoint/training/options.h>

// The main() of training programs whose step is forward, loss, backward and Adam.

namespace adj::apps {

/// Trains a model of nodes. `options`: with the program's defaults and loaders.
int train_nodes(int argc, char** argv, training::Options& options);
/// Trains a model of graphs, with the options of GraphOptions added.
int train_graphs(int argc, char** argv, training::Options& options);

}  // namespace adj::apps
