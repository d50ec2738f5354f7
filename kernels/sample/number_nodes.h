#pragma once

#include <adjoint/kernels/kernel.h>

#include <limits>

namespace adj::kernels {

/// Numbers nodes by first appearance. `table` int32 [N] holds base + number for known nodes and values below
/// `base` for all others, so that raising the base beyond all numbers clears the table for free. The first
/// `known` of `nodes` (int32 [known + S] at least) are known. New ones of `ids` (int32 [S], in range) get the
/// next numbers in their order and are appended to `nodes`; `count` (one int64) is the number known
/// afterwards, and number[k] (int32 [S]) the number of ids[k]. `used` (one int64, optional): only the first
/// `used` of `ids` count, if that number is unknown to the host. base + known + S must fit in int32; the
/// table may hold numbers up to that afterwards.
struct NumberNodesArgs {
  const Tensor& ids;
  const Tensor& used = kAbsent;
  int64_t base;
  int64_t known;
  Tensor& table;
  Tensor& nodes;
  Tensor& number;
  Tensor& count;

  Device device() const { return table.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    check_index(op, {{"table", table}, {"ids", ids}}, table.device());
    check_like(op, "number", number, ids);
    check_index(op, "nodes", nodes, table.device());
    check_scalar(op, "count", count, DType::i64, table.device());
    if (used) check_scalar(op, "used", used, DType::i64, table.device());
    ADJ_CHECK(base >= 0 && known >= 0 && nodes.numel() >= known + ids.numel() &&
                  base + known + ids.numel() <= std::numeric_limits<int32_t>::max(),
              "{}: {} ids in addition to {} known ones, from {}, exceed the {} places", op, ids.numel(),
              known, base, nodes.numel());
  }
};
ADJ_KERNEL(number_nodes, NumberNodesArgs)  ///< Batch numbers of sampled nodes.

}  // namespace adj::kernels
