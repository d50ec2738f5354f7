#pragma once

#include <adjoint/nn/linear.h>
#include <adjoint/nn/quantizer.h>

namespace adj::nn {

struct QuantLinearOptions {
  int weight_bits = 8, input_bits = 8;  ///< each 1 to 8, or 32: not quantised
  Scales scales = Scales::learned;
  bool bias = true;
  Activation activation = Activation::none;
  NodeBitsOptions by_node = {};  ///< of the input, in place of input_bits
};

/// act(fq(x) fq(W) + b): x [N,in] -> [N,out], over what x's and W's bits stand for: x by one affine range
/// (`input`), W by a symmetric one of each output column (`weights`). What bit_gemm makes of the same bits,
/// to the rounding of float32 sums (kernels/bits/bit_gemm.h).
class QuantLinear : public Module {
 public:
  QuantLinear(int64_t in, int64_t out, const QuantLinearOptions& options = {});
  /// Rows of which `keep` (uint8 [N]) is not 0 are multiplied as they are.
  Var operator()(const Var& x, const Tensor& keep = {});
  std::string describe() const override;

  Var weight;  ///< [in, out], Glorot-uniform
  Var bias;    ///< [out], zero, or absent

 private:
  Activation activation_;

 public:
  Child<Quantizer> input, weights;
};

}  // namespace adj::nn
