#pragma once

#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/types/triple.h>

namespace adj::kernels {

/// loss (a scalar) = the mean over Q of the loss by `rule` of the scores `y` [Q] of true entities and
/// `drawn` [Q,K] of others, each times weight[i mod B] of its query i, if given. float32 or float64.
struct DrawnLossArgs {
  DrawnLossRule rule;    ///< as above
  const Tensor& y;       ///< of true entities
  const Tensor& drawn;   ///< of drawn ones
  const Tensor& weight;  ///< [B], of the scores' type; optional
  Tensor& loss;          ///< the result

  /// Throws unless there is a weight for each query.
  static void check_weight(std::string_view op, const Tensor& weight, const Tensor& y) {
    if (!weight) return;
    check_tensor(op, "weight", weight, {weight.numel()}, y.dtype(), y.device());
    ADJ_CHECK(y.numel() == 0 || (weight.numel() > 0 && y.numel() % weight.numel() == 0),
              "{}: {} weights, expected a divisor of the {} queries", op, weight.numel(), y.numel());
  }
  void check(std::string_view op) const {
    check_matrix(op, "drawn", drawn);
    check_weight(op, weight, y);
    check_tensor(op, "y", y, {drawn.size(0)}, drawn.dtype(), drawn.device());
    check_scalar(op, "loss", loss, y.dtype(), y.device());
    ADJ_CHECK(y.dtype() != DType::bf16, "{}: y is {}, expected float32 or float64", op, y.str());
  }
};
ADJ_KERNEL(drawn_loss, DrawnLossArgs)  ///< Loss with drawn negatives.

/// Its gradients dy [Q] and ddrawn [Q,K] from dloss (a scalar).
struct DrawnLossBackwardArgs {
  DrawnLossRule rule;    ///< as in the forward pass
  const Tensor& y;       ///< likewise
  const Tensor& drawn;   ///< likewise
  const Tensor& weight;  ///< likewise
  const Tensor& dloss;   ///< gradient of the loss
  Tensor& dy;            ///< the result
  Tensor& ddrawn;        ///< the result

  void check(std::string_view op) const {
    check_matrix(op, "drawn", drawn);
    DrawnLossArgs::check_weight(op, weight, y);
    check_tensor(op, {{"y", y}, {"dy", dy}}, {drawn.size(0)}, drawn.dtype(), drawn.device());
    check_like(op, "ddrawn", ddrawn, drawn);
    check_scalar(op, "dloss", dloss, y.dtype(), y.device());
  }
};
ADJ_KERNEL(drawn_loss_backward, DrawnLossBackwardArgs)  ///< Gradients of that loss.

/// The true entities of queries: those of query i are ids[offsets[rows[i]]] and so on to
/// ids[offsets[rows[i] + 1]], distinct. `offsets` int64, `ids` int32, `rows` int32 [Q], in range.
struct TripleTargets {
  const Tensor& offsets;  ///< [R+1]
  const Tensor& ids;      ///< of all rows
  const Tensor& rows;     ///< of the queries

  /// Throws unless there is a row for each of `queries`, on their device.
  void check(std::string_view op, int64_t queries, Device device) const {
    check_tensor(op, "offsets", offsets, {offsets.numel()}, DType::i64, device);
    check_index(op, "ids", ids, device);
    check_tensor(op, "rows", rows, {queries}, DType::i32, device);
  }
};

/// One chunk of a loss over all entities. `y` [Q,C] holds the scores of entities [begin, begin + C), float32
/// or float64. `state` [Q,3] of the same type: for softmax the largest score so far, Σ exp(score - largest)
/// and the sum of the true scores; for bce 0, Σ softplus(score) and the sum of the true scores. The first
/// chunk has begin 0. Chunks in order give the same sums whatever else is computed.
struct EntityLossArgs {
  TripleLoss kind;       ///< of the loss
  const Tensor& y;       ///< scores of the chunk
  int64_t begin;         ///< its first entity
  TripleTargets target;  ///< the true entities
  Tensor& state;         ///< written at begin 0, then updated

  void check(std::string_view op) const {
    check_matrix(op, "y", y);
    check_tensor(op, "state", state, {y.size(0), 3}, y.dtype(), y.device());
    target.check(op, y.size(0), y.device());
  }
};
ADJ_KERNEL(entity_loss, EntityLossArgs)  ///< Adds a chunk of entities to a loss.

/// loss (a scalar) = the mean over Q of, for softmax, log Σ exp(score) less the mean true score, and for bce
/// Σ softplus(score) less the sum of the true scores, from the state after all chunks.
struct EntityLossMeanArgs {
  TripleLoss kind;       ///< as in every chunk
  const Tensor& state;   ///< after all chunks
  TripleTargets target;  ///< as in every chunk
  Tensor& loss;          ///< the result

  Device device() const { return state.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    check_matrix(op, "state", state);
    check_tensor(op, "state", state, {state.size(0), 3}, state.dtype(), state.device());
    target.check(op, state.size(0), state.device());
    check_scalar(op, "loss", loss, state.dtype(), state.device());
  }
};
ADJ_KERNEL(entity_loss_mean, EntityLossMeanArgs)  ///< Ends a loss over chunks.

/// Replaces the scores `y` [Q,C] of a chunk by their gradients, from dloss (a scalar) and the final state.
struct EntityLossBackwardArgs {
  TripleLoss kind;       ///< as in the forward pass
  Tensor& y;             ///< scores, then gradients
  int64_t begin;         ///< first entity of the chunk
  TripleTargets target;  ///< as in the forward pass
  const Tensor& state;   ///< after all chunks
  const Tensor& dloss;   ///< gradient of the loss

  void check(std::string_view op) const {
    check_matrix(op, "y", y);
    check_tensor(op, "state", state, {y.size(0), 3}, y.dtype(), y.device());
    target.check(op, y.size(0), y.device());
    check_scalar(op, "dloss", dloss, y.dtype(), y.device());
  }
};
ADJ_KERNEL(entity_loss_backward, EntityLossBackwardArgs)  ///< Gradients of a chunk's scores.

}  // namespace adj::kernels
