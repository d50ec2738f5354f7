#pragma once

#include <adjoint/nn/linear.h>
#include <adjoint/nn/quantizer.h>

namespace adj::nn {

/// Options of QuantLinear.
struct QuantLinearOptions {
  int weight_bits = 8, input_bits = 8;       ///< each 1 to 8, or 32: not quantised
  Scales scales = Scales::learned;           ///< of x and W
  bool bias = true;                          ///< b
  Activation activation = Activation::none;  ///< act: none or relu
};

/// act(fq(x) fq(W) + b): x [N,in] -> [N,out], with fake-quantised x and W: one affine range for x (`input`),
/// a symmetric range per output column for W (`weights`). Matches bit_gemm on the same bits up to float32
/// rounding (kernels/bits/bit_gemm.h).
class QuantLinear : public Module {
 public:
  QuantLinear(int64_t in, int64_t out, const QuantLinearOptions& options = {});
  /// Rows with nonzero `keep` (uint8 [N]) are not quantised.
  Var operator()(const Var& x, const Tensor& keep = {}) const;
  std::string describe() const override;

  Var weight;  ///< [in, out], Glorot-uniform
  Var bias;    ///< [out], zero, or absent

  Child<Quantizer> input, weights;

 private:
  Activation activation_;
};

}  // namespace adj::nn
