#pragma once

#include <adjoint/autograd/fake_quantize.h>
#include <adjoint/kernels/types/bit_scale.h>
#include <adjoint/nn/linear.h>
#include <adjoint/nn/module.h>

#include <array>
#include <memory>

namespace adj::nn {

namespace detail {
class KnownValue;
}

/// Source of a quantizer's scale.
enum class Scales : uint8_t {
  learned,  ///< by gradients (LSQ, Esser et al. 2020), starting from the best scale for the first batch
  running,  ///< moving mean of each batch's range
};
constexpr auto names_of(Scales) { return std::array{"learned", "running"}; }  ///< for options and files

/// Options of Quantizer.
struct QuantizerOptions {
  int bits = 8;  ///< 1 to 8; 0 or 32: no quantisation, no state
  /// affine: for activations; the zero is 0 if no number is below 0, as after a relu. symmetric: for weights.
  BitRange range = BitRange::affine;
  Scales scales = Scales::learned;  ///< where the scale comes from
  int64_t columns = 0;              ///< of the input, each with its own scale; 0: one scale for all
  double momentum = 0.1;            ///< of running scales: weight of the newest batch
};

/// Fake quantisation of a matrix [R,C], with one scale or one per column.
///
/// State, n being 1 or the number of columns:
///   scale      float32 [n], buffer: used in evaluation; 0 before the first training batch
///   zero       float32 [n], buffer, likewise; an integer; for a symmetric range (2^bits - 1) / 2
///   log_scale  float32 [n], parameter of learned scales, which are exp(log_scale), times the mean |x| for a
///              symmetric range of 3 bits or more: always positive, with optimizer steps relative to the
///              scale
///   mean_zero  float32 [n], buffer of running scales: moving mean, which zero rounds
///
/// A training pass updates `scale`, as a batch norm updates its running statistics; passes of one quantizer
/// must not run concurrently then, in evaluation mode they may. Learned scales start with
/// the smallest squared error on the first training batch, among ranges of 1 to 2^-8 of its minimum and
/// maximum; zero is fixed from then on.
class Quantizer : public Module {
 public:
  /// Throws for unsupported bits.
  explicit Quantizer(const QuantizerOptions& options);
  /// Dequantised x. Rows with nonzero `keep` (uint8 [R]) are not quantised.
  /// Throws in evaluation mode before any training pass, as there is no scale yet.
  Var operator()(const Var& x, const Tensor& keep = {}) const;
  /// False for 0 and 32 bits: x stays as it is.
  bool quantizes() const { return options_.bits >= 1 && options_.bits <= BitTensor::kMostBits; }
  int bits() const { return options_.bits; }
  const Tensor& scale() const { return scale_; }
  const Tensor& zero() const { return zero_; }
  std::string describe() const override;

 private:
  PackedAlong along() const { return options_.columns > 0 ? PackedAlong::columns : PackedAlong::rows; }
  bool ready() const;
  Tensor unit_of(const Tensor& x) const;
  void begin(const Tensor& x) const;
  void follow(const Tensor& x) const;
  Var moved_scale(const Tensor& x) const;

  QuantizerOptions options_;
  Var log_scale_;
  mutable Tensor scale_, zero_, mean_zero_;          // written by training passes
  std::shared_ptr<detail::KnownValue> known_scale_;  // above 0 once scale_ is set
};

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
