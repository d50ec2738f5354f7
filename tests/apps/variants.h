#pragma once

#include "process.h"

namespace adj::test {

/// A training program with options for its model.
struct Variant {
  std::string program;
  std::vector<std::string> options;
};

/// All training programs with their model variants.
inline const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
      {"train_gcn", {}},
      {"train_gcn", {"--norm", "batch", "--layers", "3", "--hidden", "24", "--features-scaling", "none"}},
      {"train_gat", {}},
      {"train_gat", {"--model", "gatv2"}},
      {"train_gat",
       {"--norm", "batch", "--layers", "3", "--heads", "3", "--output-heads", "2", "--residual"}},
      {"train_sage", {}},
      {"train_sage", {"--aggr", "max", "--norm", "layer", "--layers", "3", "--residual"}},
      {"train_sage", {"--aggr", "pool", "--norm", "batch"}},
      {"train_gin", {}},
      {"train_gin", {"--train-eps", "--norm", "layer", "--layers", "3", "--residual"}},
      {"train_transformer", {}},
      {"train_transformer", {"--gate", "--norm", "batch", "--heads", "2", "--layers", "3", "--residual"}},
      {"train_agnn", {}},
      {"train_agnn", {"--layers", "3", "--hidden", "24"}},
      {"train_qgnn", {}},
      {"train_qgnn",
       {"--model", "gin", "--norm", "batch", "--layers", "3", "--bits", "8,4,4", "--degree-quant", "0.2"}},
      {"train_qgnn", {"--scales", "running", "--bits-weights", "6", "--bits-activations", "32,7"}},
  };
  return all;
}

/// True if its layers accept sampled blocks.
inline bool takes_blocks(const Variant& variant) {
  return variant.program != "train_agnn" && variant.program != "train_qgnn";
}
/// True if layer-wise evaluation over blocks is exact for it too.
inline bool exact_by_layers(const Variant& variant) {
  return takes_blocks(variant) && variant.program != "train_gcn";
}
/// False for float32 and tf32 only.
inline bool takes_bfloat16(const Variant& variant) { return variant.program != "train_qgnn"; }

}  // namespace adj::test
