#pragma once

#include <adjoint/autograd/linear.h>
#include <adjoint/nn/module.h>

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

}  // namespace adj::nn
