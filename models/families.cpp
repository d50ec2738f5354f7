#include <adjoint/models/family.h>

// Separate from family.cpp: linking this file links every model.

namespace adj::models {

std::vector<ModelFamily> families() {
  return {gcn(),  gat(),  sage(),       gin(),  transformer(), agnn(), graph_gin(), link(),
          edge(), qgnn(), graph_qgin(), rgcn(), hgt(),         gps(),  graph_gps()};
}

}  // namespace adj::models
