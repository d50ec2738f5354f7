#include <adjoint/core/random.h>
#include <adjoint/nn/init.h>
#include <adjoint/nn/linear.h>

namespace adj::nn {

Linear::Linear(int64_t in, int64_t out, const LinearOptions& options) : activation_(options.activation) {
  ADJ_CHECK(in > 0 && out > 0, "Linear: expected positive widths, got {} -> {}", in, out);
  const Initial initial = options.initial;
  add_parameter("weight", weight,
                initial == Initial::fan_in ? fan_in_uniform(in, out) : glorot_uniform(in, out),
                {.transposed = true});
  if (options.bias)
    add_parameter("bias", bias, initial == Initial::glorot ? constant({out}, 0.0) : fan_in_bias(in, out));
}

std::string Linear::describe() const {
  return fmt::format("Linear({} -> {})", weight.size(0), weight.size(1));
}

MLP::MLP(const std::vector<int64_t>& widths, const MLPOptions& options) : dropout_(options.dropout) {
  ADJ_CHECK(widths.size() >= 2, "MLP: expected two widths or more, got {}", widths.size());
  (void)dropout_rule(dropout_);
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    const bool last = i + 2 == widths.size();
    layers_.add(widths[i], widths[i + 1],
                LinearOptions{.activation = last ? Activation::none : Activation::relu});
  }
}

// Applies the layers from `layer` on.
Var MLP::apply_layers(size_t layer, Var y) const {
  for (; layer < layers_.size(); ++layer) y = layers_[layer](dropout(y, dropout_));
  return y;
}

}  // namespace adj::nn
