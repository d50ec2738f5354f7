#include "formats.h"
#include <adjoint/data/import/npz_dataset.h>

namespace adj::apps {

Format npz_format() {
  return {"npz",
          "numpy arrays as published by heterophilous-graphs, gnn-benchmark and Reddit (reddit_data.npz with "
          "its graph in the same folder), or plain: edge_index and more",
          {},
          [](const std::string& input, auto& notes) { return import_npz(input, &notes); }};
}

}  // namespace adj::apps
