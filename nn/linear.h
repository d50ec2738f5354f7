#pragma once

#include <adjoint/autograd/linear.h>
#include <adjoint/nn/module.h>

#include <vector>

namespace adj::nn {

/// Initialisation of a linear map.
enum class Initial : uint8_t {
  glorot,       ///< weight Glorot-uniform, bias zero
  fan_in,       ///< both uniform in ±1 / sqrt(in), as in torch.nn.Linear
  glorot_bias,  ///< weight Glorot-uniform, bias uniform in ±1 / sqrt(in)
};

/// Options of Linear.
struct LinearOptions {
  bool bias = true;                          ///< b
  Activation activation = Activation::none;  ///< none or relu, fused into the product
  Initial initial = Initial::glorot;         ///< of W and b
};

/// act(x W + b): x [N,in] (or features of any kind) -> [N,out].
class Linear : public Module {
 public:
  Linear(int64_t in, int64_t out, const LinearOptions& options = {});
  Var operator()(const Var& x) const { return linear(x, weight, bias, activation_); }  ///< [N,out]
  Var operator()(const Features& x) const { return linear(x, weight, bias, activation_); }
  Activation activation() const { return activation_; }  ///< of the options
  std::string describe() const override;

  Var weight;  ///< [in, out]
  Var bias;    ///< [out], or absent

 private:
  Activation activation_;
};

/// Drops with probability p in training mode; identity in evaluation mode.
class Dropout : public Module {
 public:
  explicit Dropout(float p) : p_(p) { (void)dropout_rule(p); }
  Var operator()(const Var& x) const { return dropout(x, p_); }  ///< scales the rest by 1 / (1 - p)
  Features operator()(const Features& x) const { return dropout(x, p_); }
  std::string describe() const override { return fmt::format("Dropout({})", p_); }

 private:
  float p_;
};

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
