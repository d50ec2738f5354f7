#include "formats.h"
#include <adjoint/data/import/npz_dataset.h>

namespace po = boost::program_options;

namespace adj::apps {

Format npz_format() {
  return {"npz",
          "numpy's arrays as heterophilous-graphs, gnn-benchmark and Reddit publish them (the last as "
          "reddit_data.npz, its graph beside it), or plain: edge_index and more",
          po::options_description("Options of npz"),
          [](const std::string& input) { return import_npz(input); }};
}

}  // namespace adj::apps
