#include <adjoint/core/error.h>
#include <adjoint/core/option_check.h>
#include <adjoint/core/text.h>
#include <adjoint/models/quantized.h>

#include <algorithm>

namespace adj::models {

namespace {

/// "8" or "8,4,2" as the bits of each layer.
std::vector<int> bits_of(const std::string& option, const std::string& text, int64_t layers) {
  std::vector<int> bits;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t stop = std::min(text.find(',', begin), text.size());
    const int one = number_in<int>(std::string_view(text).substr(begin, stop - begin)).value_or(0);
    if (!((one >= 1 && one <= BitTensor::kMostBits) || one == 32))
      usage_fail("--{}: expected 1 to 8 or 32 bits, or such a number for each layer (8,4,2), got '{}'",
                 option, excerpt(text));
    bits.push_back(one);
    begin = stop + 1;
  }
  if (bits.size() == 1) bits.resize(static_cast<size_t>(layers), bits.front());
  if (std::ssize(bits) != layers)
    usage_fail("--{} {}: {} numbers, expected one, or one for each of {} layers", option, excerpt(text),
               bits.size(), layers);
  return bits;
}

}  // namespace

Quantization::Quantization(const ModelOptions& o)
    : weight_bits(o.quantized.bits_weights == "auto"
                      ? bits_of("bits", o.quantized.bits, o.layers)
                      : bits_of("bits-weights", o.quantized.bits_weights, o.layers)),
      activation_bits(o.quantized.bits_activations == "auto"
                          ? bits_of("bits", o.quantized.bits, o.layers)
                          : bits_of("bits-activations", o.quantized.bits_activations, o.layers)),
      scales(o.quantized.scales) {}

nn::QuantizerOptions Quantization::input(size_t layer) const {
  return {.bits = activation_bits[layer], .scales = scales};
}

nn::QuantLinearOptions Quantization::linear(size_t layer, Activation activation) const {
  return {.weight_bits = weight_bits[layer],
          .input_bits = activation_bits[layer],
          .scales = scales,
          .activation = activation};
}

nn::QuantLinearOptions Quantization::readout(size_t layer) const {
  return {.weight_bits = std::max(weight_bits[layer], kReadoutBits),
          .input_bits = std::max(activation_bits[layer], kReadoutBits),
          .scales = scales};
}

std::string describe_bits(const ModelOptions& o) {
  const QuantizedModelOptions& q = o.quantized;
  if (q.bits == "32" && q.bits_weights == "auto" && q.bits_activations == "auto") return "";
  return fmt::format(" {} bits{}{}{}", q.bits,
                     q.bits_weights == "auto" ? "" : fmt::format(", weights {}", q.bits_weights),
                     q.bits_activations == "auto" ? "" : fmt::format(", activations {}", q.bits_activations),
                     q.scales == nn::Scales::learned ? "" : " running scales");
}

std::vector<ModelOption> quantized_options(const std::vector<ModelOption>& options) {
  std::vector<ModelOption> all = model_options({"bits", "bits-weights", "bits-activations", "scales"});
  all.insert(all.end(), options.begin(), options.end());
  return all;
}

}  // namespace adj::models
