#pragma once

#include <adjoint/core/option.h>
#include <adjoint/data/generators.h>

#include <functional>
#include <string>
#include <vector>

namespace adj::apps {

/// A kind of dataset for `generate`: its options and its generator.
struct Spec {
  std::string name, summary;
  OptionList options;
  /// Throws adj::Error for options out of range or in conflict.
  std::function<Dataset(uint64_t seed)> make;
};

/// All of them, the named graphs last, each with new options.
std::vector<Spec> specs();

}  // namespace adj::apps
