#include "models/models.h"

int main(int argc, char** argv) { return adj::apps::train(argc, argv, adj::apps::train_graph_qgin()); }
