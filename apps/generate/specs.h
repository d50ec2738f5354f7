#pragma once

#include <adjoint/core/option.h>
#include <adjoint/data/generators.h>
#include <adjoint/data/typed_generators.h>

#include <functional>
#include <string>
#include <vector>

namespace adj::apps {

/// A kind of dataset for `generate`: its options and its generator.
struct Spec {
  std::string name, summary;
  OptionList options;
  /// Throw adj::Error for options out of range or in conflict; a dataset of one type or of several.
  std::function<Dataset(uint64_t seed)> make;
  std::function<TypedDataset(uint64_t seed)> make_typed = {};
};

/// All of them, the named graphs last, each with new options.
std::vector<Spec> specs();

}  // namespace adj::apps
