#pragma once

#include <adjoint/nn/module.h>

#include <memory>
#include <vector>

namespace adj::nn {

namespace detail {
class KnownValue;
}

struct NodeBitsOptions {
  int64_t nodes = 0;  ///< nodes of the graph; 0: bits are not per node
  double mean = 4.0;  ///< initial bits of every node
};

/// Fake quantisation of a matrix [N,F] with a learned step size and number of bits per node (A2Q, Zhu et al.,
/// Aggregation-Aware Quantization for Graph Neural Networks, 2023): nodes with many neighbours have larger
/// sums and get more bits. Both learn from each node's own quantisation error (the paper's Local Gradient),
/// as most training nodes have no label. x takes the gradient of the loss, straight-through.
///
/// State:
///   log_scale  float32 [N], parameter: the step size is exp of it
///   bits       float32 [N], parameter, rounded when used, clamped to 1 (signed: 2) … 8
///   scale      float32 [N], buffer: used in evaluation; 0 before the first training batch
///   signed     float32 [1], buffer: 1 if a number of the first batch was below 0, else 0
///
/// Initial step sizes minimise the squared error on the first training batch, among ranges of 1 to 2^-8 times
/// a node's largest number.
class NodeQuantizer : public Module {
 public:
  /// Throws for bits outside 1 to 8, or no nodes.
  explicit NodeQuantizer(const NodeBitsOptions& options);
  /// Dequantised x, x float32 [N,F]. Throws if the number of nodes is not N, and in evaluation mode before
  /// any training pass.
  Var operator()(const Var& x) const;
  /// [1]: mean bits of the nodes, clamped to their bounds, not rounded.
  Var mean_bits() const;
  /// Bits of each node, clamped and rounded.
  std::vector<int> held_bits() const;
  const Tensor& scale() const { return scale_; }
  std::string describe() const override;

 private:
  bool ready() const;
  void begin(const Tensor& x) const;

  int64_t nodes_;
  Var log_scale_, bits_;
  mutable Tensor scale_, signed_;  // written by training passes

  std::shared_ptr<detail::KnownValue> known_scale_;  // above 0 once scale_ is set
};

}  // namespace adj::nn
