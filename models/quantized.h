#pragma once

#include <adjoint/models/options.h>
#include <adjoint/nn/quantizer.h>

// Shared by the quantised models.

namespace adj::models {

/// Bits of the readouts in models of graphs, for any bits of the layers.
inline constexpr int kReadoutBits = 8;

/// Bits and scales of a model's layers: `input` for the features that a layer sums, `linear` for its maps.
struct Quantization {
  std::vector<int> weight_bits, activation_bits;  ///< per layer; 32: not quantised
  nn::Scales scales;

  /// Throws UsageError if the options are out of range or do not match the number of layers.
  explicit Quantization(const ModelOptions& options);
  nn::QuantizerOptions input(size_t layer) const;
  nn::QuantLinearOptions linear(size_t layer, Activation activation = Activation::none) const;
  /// Readout of a layer's pooled input: 8 bits, or 32 if the layer's weights or activations have 32.
  nn::QuantLinearOptions readout(size_t layer) const;
};

/// " 4 bits, weights 8 running scales", for describe(); empty if nothing is quantised.
std::string describe_bits(const ModelOptions& options);
/// The options of quantised models.
std::vector<ModelOption> quantized_options(const std::vector<ModelOption>& options);

}  // namespace adj::models
