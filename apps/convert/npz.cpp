#include "formats.h"
#include <adjoint/data/import/npz_dataset.h>

namespace po = boost::program_options;

namespace adj::apps {

Format npz_format() {
  return {"npz",
          "numpy arrays as published by heterophilous-graphs, gnn-benchmark and Reddit (reddit_data.npz with "
          "its graph in the same folder), or plain: edge_index and more",
          po::options_description("Options of npz"),
          [](const std::string& input) { return import_npz(input); }};
}

}  // namespace adj::apps
