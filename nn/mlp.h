#pragma once

#include <adjoint/nn/linear.h>

#include <vector>

namespace adj::nn {

/// Options of MLP.
struct MLPOptions {
  float dropout = 0.0f;  ///< before each layer
};

/// Linear layers with relu and dropout between them: MLP({1433, 64, 7}, {.dropout = 0.5f}). x [N,
/// widths.front()], dense or features of any kind -> [N, widths.back()].
class MLP : public Module {
 public:
  explicit MLP(const std::vector<int64_t>& widths, const MLPOptions& options = {});
  /// Dropout draws in training mode only.
  Var operator()(const Var& x) const { return apply_layers(1, layers_[0](dropout(x, dropout_))); }
  Var operator()(const Features& x) const { return apply_layers(1, layers_[0](dropout(x, dropout_))); }
  /// MLP(P x) for a P linear in the rows of x (a sum over neighbours), applied after the first product: P x W
  /// = P (x W). propagate(y, bias, act) is act(P y + bias). For sparse features, whose sparsity P would
  /// destroy. Requires commutes().
  template <class Propagate>
  Var propagated(const Features& x, Propagate&& propagate) const {
    const Linear& first = layers_[0];
    return apply_layers(1, propagate(matmul(x, first.weight), first.bias, first.activation()));
  }
  /// Whether no dropout is active before the first layer.
  bool commutes() const { return dropout_ == 0.0f || !training(); }
  std::string describe() const override { return "MLP"; }

 private:
  Var apply_layers(size_t layer, Var y) const;

  ModuleList<Linear> layers_{this, "lins"};
  float dropout_;
};

}  // namespace adj::nn
