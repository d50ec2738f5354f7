#pragma once

#include <adjoint/data/generators.h>

#include <string>

namespace adj::test {

/// Writes a dataset that a program trains on in milliseconds.
inline void write_small_dataset(const std::string& path, uint64_t seed = 1, int64_t classes = 3) {
  CitationOptions options;
  options.nodes = 120;
  options.classes = classes;
  options.features = 40;
  options.train_per_class = 8;
  options.val = 30;
  options.test = 40;
  options.seed = seed;
  Dataset data = make_citation_dataset(options);
  data.name = "small";
  save_dataset(data, path);
}

}  // namespace adj::test
