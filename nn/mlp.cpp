#include <adjoint/core/random.h>
#include <adjoint/nn/mlp.h>

namespace adj::nn {

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
