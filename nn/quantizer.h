#pragma once

#include <adjoint/autograd/fake_quantize.h>
#include <adjoint/kernels/bits/bit_scale.h>
#include <adjoint/nn/known_value.h>
#include <adjoint/nn/node_quantizer.h>

#include <optional>

namespace adj::nn {

/// Where a quantizer has its scale from.
enum class Scales : uint8_t {
  learned,  ///< by gradients (LSQ, Esser et al. 2020), from the best one for the first batch on
  running,  ///< from the range of each batch, as a moving mean
};

struct QuantizerOptions {
  int bits = 8;  ///< 1 to 8; 0 or 32: nothing is quantised, and there is no state
  /// affine: for activations; its zero is 0 where no number is below 0, as behind a relu. symmetric: for
  /// weights.
  BitRange range = BitRange::affine;
  Scales scales = Scales::learned;
  double momentum = 0.1;  ///< of running scales: the share of the newest batch
  /// Of these nodes each has a scale and bits of its own, in the place of `bits` (which are to quantise),
  /// `range` and `scales`.
  NodeBitsOptions by_node = {};
};

/// Fake quantisation of a matrix [R,C] by a scale of its own, one of all of it or one of each column.
///
/// State, n being 1 or the number of columns:
///   scale      float32 [n], a buffer: what an evaluation quantises by; 0 before the first training batch
///   zero       float32 [n], a buffer, likewise; an integer, for a symmetric range (2^bits - 1) / 2
///   log_scale  float32 [n], a parameter of learned scales, which are exp(log_scale), of a symmetric range
///              of 3 bits or more times the mean |x|: always positive, and a step of the optimizer is a share
///              of the scale, whatever its size
///   mean_zero  float32 [n], a buffer of running scales: the moving mean that zero is the rounding of
///
/// By node it has the state of a NodeQuantizer, as `nodes.scale` and so on, and none of its own.
///
/// A training pass sets `scale` to what it quantises by, as a batch norm moves its running statistics.
/// Learned scales begin with the smallest squared error on the first training batch, among ranges that end 1
/// to 2^-8 of the way to its extremes; zero stays as it is from then on.
class Quantizer : public Module {
 public:
  /// `columns` 0: one scale of all. Throws for other bits.
  explicit Quantizer(const QuantizerOptions& options, int64_t columns = 0);
  /// What x's bits stand for. Rows of which `keep` (uint8 [R]) is not 0 pass as they are; by node none may.
  /// Throws in evaluation mode before any training pass: there is no scale yet.
  Var operator()(const Var& x, const Tensor& keep = {});
  bool quantizes() const { return options_.bits >= 1 && options_.bits <= BitTensor::kMostBits; }
  int bits() const { return options_.bits; }
  const Tensor& scale() const { return scale_; }
  const Tensor& zero() const { return zero_; }
  const NodeQuantizer* nodes() const { return nodes_ ? &*nodes_ : nullptr; }  ///< null: not by node
  std::string describe() const override;

 private:
  PackedAlong along() const { return columns_ > 0 ? PackedAlong::columns : PackedAlong::rows; }
  bool ready() { return known_scale_.of(scale_) > 0.0; }
  Tensor unit_of(const Tensor& x) const;
  void begin(const Tensor& x);
  void follow(const Tensor& x);
  Var moved_scale(const Tensor& x);

  QuantizerOptions options_;
  int64_t columns_;
  Var log_scale_;
  Tensor scale_, zero_, mean_zero_;
  std::optional<Child<NodeQuantizer>> nodes_;

  detail::KnownValue known_scale_;  // above 0 once scale_ was set
};

}  // namespace adj::nn
