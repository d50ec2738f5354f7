#include <adjoint/nn/init.h>
#include <adjoint/nn/quant_linear.h>

namespace adj::nn {

QuantLinear::QuantLinear(int64_t in, int64_t out, const QuantLinearOptions& o)
    : input(this, "input", QuantizerOptions{.bits = o.input_bits, .scales = o.scales}),
      // Running ranges of weights follow the current weights: there is no batch to average over.
      weights(this, "weights",
              QuantizerOptions{.bits = o.weight_bits,
                               .range = BitRange::symmetric,
                               .scales = o.scales,
                               .columns = out,
                               .momentum = 1.0}),
      activation_(o.activation) {
  ADJ_CHECK(in > 0 && out > 0, "QuantLinear: expected positive widths, got {} -> {}", in, out);
  add_parameter("weight", weight, glorot_uniform(in, out), {.transposed = true});
  if (o.bias) add_parameter("bias", bias, constant({out}, 0.0));
}

Var QuantLinear::operator()(const Var& x, const Tensor& keep) const {
  return linear(input(x, keep), weights(weight), bias, activation_);
}

std::string QuantLinear::describe() const {
  return fmt::format("QuantLinear({} -> {})", weight.size(0), weight.size(1));
}

}  // namespace adj::nn
