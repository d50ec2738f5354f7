#pragma once

#include "options.h"
#include <adjoint/nn/quant_linear.h>

// What quantised models share.

namespace adj::models {

/// Of the readouts of models of graphs, however few their layers have.
inline constexpr int kReadoutBits = 8;

/// Bits and scales of a model's layers, as the options say.
struct Quantization {
  std::vector<int> weight_bits, activation_bits;  ///< of each layer, 32: not quantised
  nn::Scales scales;
  nn::NodeBitsOptions by_node;  ///< of activations

  /// Throws UsageError where the options are out of range or do not fit the number of layers.
  explicit Quantization(const ModelOptions& options);
  nn::QuantizerOptions input(size_t layer) const;
  nn::QuantLinearOptions linear(size_t layer, Activation activation = Activation::none) const;
  /// Of what reads out a layer's input, pooled: 8 bits, and 32 where the layer's weights or activations have
  /// them.
  nn::QuantLinearOptions readout(size_t layer) const;
};

/// " 4 bits, weights 8 running scales", for describe(); empty where nothing is quantised.
std::string describe_bits(const ModelOptions& options);
/// The options of such models.
std::vector<ModelOption> quantized_options(const std::vector<ModelOption>& own);

}  // namespace adj::models
