#pragma once

#include <adjoint/core/random.h>
#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/triple/losses.h>

namespace adj::kernels {

/// The next batch of triples. `triples` int32 [M,3] of head, relation and tail; `order` int32 [M] of their
/// numbers; `position` (one int64) is where the batch begins in `order`, and is advanced by B; a batch that
/// reaches the end goes on at the beginning. Outputs, int32: `number` [B] of the triples, `relation` [B], and
/// `entity` [2 B + K]: heads, tails, and K entities of [0, entities) drawn by `key` with replacement, as the
/// upper half of a 32-bit word times `entities`.
struct TripleBatchArgs {
  const Tensor& triples;  ///< all of a training
  const Tensor& order;    ///< of an epoch
  int64_t entities;       ///< number of all
  RandomKey key;          ///< of the draws
  Tensor& position;       ///< advanced
  Tensor& number;         ///< [B]
  Tensor& relation;       ///< [B]
  Tensor& entity;         ///< [2 B + K]

  Device device() const { return triples.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    const Device device = triples.device();
    check_tensor(op, "triples", triples, {triples.size(0), 3}, DType::i32, device);
    check_tensor(op, "order", order, {triples.size(0)}, DType::i32, device);
    check_scalar(op, "position", position, DType::i64, device);
    check_index(op, {{"number", number}, {"relation", relation}, {"entity", entity}}, device);
    check_like(op, "relation", relation, number);
    ADJ_CHECK(entity.numel() >= 2 * number.numel() && entities > 0 && triples.size(0) > 0,
              "{}: entity is {} for {} triples of {} entities and {}, expected two each and drawn ones", op,
              entity.str(), number.numel(), entities, triples.str());
  }
};
ADJ_KERNEL(triple_batch, TripleBatchArgs)  ///< Triples in an order, with drawn entities.

/// Rank of a true entity among all: for row i of scores `y` [Q,E], better[i] = number of entities with a
/// higher score than entity[i] has, ties[i] = number of others with the same score, both int32 [Q], without
/// those of `known` (of which entity[i] may be one). A score that is not a number counts as better. The rank
/// is better + ties / 2 + 1.
struct EntityRanksArgs {
  const Tensor& y;       ///< scores of all entities
  const Tensor& entity;  ///< the true ones
  TripleTargets known;   ///< to be passed over
  Tensor& better;        ///< [Q]
  Tensor& ties;          ///< [Q]

  void check(std::string_view op) const {
    check_matrix(op, "y", y);
    check_tensor(op, {{"entity", entity}, {"better", better}, {"ties", ties}}, {y.size(0)}, DType::i32,
                 y.device());
    known.check(op, y.size(0), y.device());
  }
};
ADJ_KERNEL(entity_ranks, EntityRanksArgs)  ///< Filtered ranks.

}  // namespace adj::kernels
