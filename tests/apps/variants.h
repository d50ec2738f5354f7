#pragma once

#include "process.h"

namespace adj::test {

/// A training program with options that shape its model.
struct Variant {
  std::string program;
  std::vector<std::string> options;
};

/// All programs that train, with what their models can be.
inline const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
      {"train_gcn", {}},
      {"train_gcn", {"--norm", "batch", "--layers", "3", "--hidden", "24", "--raw-features"}},
      {"train_gin", {}},
      {"train_gin", {"--train-eps", "--norm", "layer", "--layers", "3", "--residual"}},
  };
  return all;
}

}  // namespace adj::test
