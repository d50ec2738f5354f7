#include "formats.h"
#include <adjoint/data/import/npz_dataset.h>

namespace adj::apps {

Format npz_format() {
  return {"npz",
          "numpy arrays as published by heterophilous-graphs, gnn-benchmark and Reddit (reddit_data.npz with "
          "its graph in the same folder), or plain: edge_index and more",
          boost::program_options::options_description("Options of npz"), import_npz};
}

}  // namespace adj::apps
