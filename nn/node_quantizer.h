#pragma once

#include <adjoint/nn/known_value.h>
#include <adjoint/nn/module.h>

#include <vector>

namespace adj::nn {

struct NodeBitsOptions {
  int64_t nodes = 0;  ///< of the one graph that it is for; 0: bits are not by node
  double mean = 4.0;  ///< bits that every node begins with
};

/// Fake quantisation of a matrix [N,F], each node by a step size and a number of bits of its own, both
/// learned (A2Q, Zhu et al., Aggregation-Aware Quantization for Graph Neural Networks, 2023): nodes of many
/// neighbours have larger sums, and get more bits. They learn by the gradient of each node's own error (the
/// paper's Local Gradient), as most nodes of a training have no label; x by that of the loss, straight
/// through.
///
/// State:
///   log_scale  float32 [N], a parameter: the step size is exp of it
///   bits       float32 [N], a parameter, of which the rounding counts, held within 1 (2 with signs) and 8
///   scale      float32 [N], a buffer: what an evaluation quantises by; 0 before the first training batch
///   signed     float32 [1], a buffer: 1 where a number of the first batch was below 0, else 0
///
/// Step sizes begin with the least squared error on the first training batch, among ranges that end 1 to 2^-8
/// of the way to a node's largest number.
class NodeQuantizer : public Module {
 public:
  /// Throws for other than 1 to 8 bits, or no nodes.
  explicit NodeQuantizer(const NodeBitsOptions& options);
  /// What x's bits stand for, x float32 [N,F]. Throws for other nodes than N, and in evaluation mode before
  /// any training pass.
  Var operator()(const Var& x);
  /// [1]: the mean of the nodes' bits, held within their bounds and not rounded.
  Var mean_bits() const;
  /// Of each node, as they count.
  std::vector<int> held_bits() const;
  const Tensor& scale() const { return scale_; }
  std::string describe() const override;

 private:
  bool ready() { return known_scale_.of(scale_) > 0.0; }
  void begin(const Tensor& x);

  int64_t nodes_;
  Var log_scale_, bits_;
  Tensor scale_, signed_;

  detail::KnownValue known_scale_;  // above 0 once scale_ was set
};

}  // namespace adj::nn
