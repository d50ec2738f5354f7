#include "formats.h"
#include <adjoint/data/import/npz_dataset.h>

namespace adj::apps {

Format npz_format() {
  const auto found = std::make_shared<std::vector<std::string>>();
  Format format{
      "npz",
      "numpy arrays as published by heterophilous-graphs, gnn-benchmark and Reddit (reddit_data.npz with "
      "its graph in the same folder), or plain: edge_index and more",
      {},
      [found](const std::string& input) {
        found->clear();
        return import_npz(input, found.get());
      }};
  format.notes = [found] { return *found; };
  return format;
}

}  // namespace adj::apps
