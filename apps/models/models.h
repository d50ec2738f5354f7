#pragma once

#include "../common.h"

namespace adj::apps {

// One file a program: the options of its models (models/) and the defaults of the paper that introduced them.
Program train_gcn();
Program train_gat();
Program train_sage();
Program train_gin();
Program train_transformer();
Program train_agnn();
Program train_graph_gin();
Program train_link();
Program train_qgnn();
Program train_graph_qgin();

/// Those whose models `predict` makes of weights from PyG, which has no quantised ones.
inline std::vector<Program> all_programs() {
  return {train_gcn(),         train_gat(),  train_sage(),     train_gin(),
          train_transformer(), train_agnn(), train_graph_gin()};
}

}  // namespace adj::apps
