#pragma once

#include <adjoint/kernels/kernel.h>

#include <limits>

namespace adj::kernels {

/// Numbers nodes by their first appearance. `table` int32 [N] holds base + number of each node that is known,
/// and less than `base` for others, so that who goes on with a base beyond all numbers forgets them for
/// nothing. Known are the first `known` of `nodes` (int32 [known + S] at least). Of `ids` (int32 [S], in
/// range) those that are new get the next numbers in the order in which they stand there, and are appended to
/// `nodes`; `count` (one int64) is how many are known then, and number[k] (int32 [S]) the number of ids[k].
/// `used`, one int64, where it is given: only the first so many of `ids` count, for a host that does not know
/// the number. base + known + S must fit an int32; numbers up to there may be in the table afterwards.
struct NumberNodesArgs {
  const Tensor& ids;
  const Tensor& used = kAbsent;
  int64_t base;
  int64_t known;
  Tensor& table;
  Tensor& nodes;
  Tensor& number;
  Tensor& count;

  Device device() const { return table.device(); }
  void check() const {
    constexpr std::string_view kName = "number_nodes";
    check_index(kName, "table", table, table.device());
    check_index(kName, "ids", ids, table.device());
    check_like(kName, "number", number, ids);
    check_index(kName, "nodes", nodes, table.device());
    check_scalar(kName, "count", count, DType::i64, table.device());
    if (used) check_scalar(kName, "used", used, DType::i64, table.device());
    ADJ_CHECK(base >= 0 && known >= 0 && nodes.numel() >= known + ids.numel() &&
                  base + known + ids.numel() <= std::numeric_limits<int32_t>::max(),
              "{}: {} ids beside {} known ones, from {}, in room for {}", kName, ids.numel(), known, base,
              nodes.numel());
  }
};
ADJ_KERNEL(number_nodes, NumberNodesArgs)

}  // namespace adj::kernels
