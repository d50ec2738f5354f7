// One pass in order, on the calling thread only: every number depends on the previous ones. It is bound by
// table lookups, so their cache lines are prefetched; whether a node is new is handled branch-free, as it is
// unpredictable.

#include <adjoint/kernels/sample/number_nodes.h>

#include <algorithm>

namespace adj::kernels::cpu {

void number_nodes(const NumberNodesArgs& args) {
  constexpr int64_t kAhead = 24;
  const int32_t* ids = args.ids.data<int32_t>();
  const int64_t n = args.used ? *args.used.data<int64_t>() : args.ids.numel();
  int32_t *table = args.table.mutable_data<int32_t>(), *nodes = args.nodes.mutable_data<int32_t>(),
          *number = args.number.mutable_data<int32_t>();
  const auto base = static_cast<int32_t>(args.base);
  auto next = static_cast<int32_t>(args.known);
  const auto take = [&](int64_t k) {
    const int32_t id = ids[k], found = table[id] - base;
    const bool is_new = found < 0;
    const int32_t chosen = is_new ? next : found;
    table[id] = base + chosen;
    nodes[next] = id;  // always written; overwritten by the next new one if this is known; there is room
    number[k] = chosen;
    next += static_cast<int32_t>(is_new);
  };
  const int64_t ahead = std::max<int64_t>(n - kAhead, 0);
  for (int64_t k = 0; k < std::min(n, kAhead); ++k) __builtin_prefetch(table + ids[k], 1);
  for (int64_t k = 0; k < ahead; ++k) {
    __builtin_prefetch(table + ids[k + kAhead], 1);
    take(k);
  }
  for (int64_t k = ahead; k < n; ++k) take(k);
  *args.count.mutable_data<int64_t>() = next;
}

}  // namespace adj::kernels::cpu
