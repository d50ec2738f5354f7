#include <adjoint/core/parallel.h>
#include <adjoint/graph/detail/node_set.h>
#include <adjoint/graph/subgraph.h>

#include <algorithm>
#include <optional>

namespace adj {

Subgraph subgraph_of(const Graph& whole, const Tensor& nodes) {
  ADJ_CHECK(whole && !whole.device().is_cuda() && nodes && nodes.dims() == 1 && nodes.dtype() == DType::i32 &&
                !nodes.is_cuda(),
            "subgraph_of: nodes are {}, expected int32 [K] on the CPU, as the graph is", nodes.str());
  constexpr int64_t kRows = 512;  // rows per chunk of a thread
  constexpr int64_t kAhead = 12;  // rows
  const int32_t* ids = nodes.data<int32_t>();
  for (int64_t k = 0; k < nodes.numel(); ++k)
    ADJ_CHECK(ids[k] >= 0 && ids[k] < whole.num_nodes(),
              "subgraph_of: node {} at position {}, expected 0 to {}", ids[k], k, whole.num_nodes() - 1);
  detail::NodeSet set(whole.num_nodes());
  set.insert({ids, static_cast<size_t>(nodes.numel())});

  Subgraph result{{}, Tensor::from(set.members()), {}};
  const int64_t count = result.nodes.numel();
  const int32_t* members = result.nodes.data<int32_t>();
  const Csr& in = whole.in_edges();
  const int64_t* rows = in.offsets.data<int64_t>();
  const int32_t* sources = in.indices.data<int32_t>();
  Csr csr{count, count, Tensor::empty({count + 1}, DType::i64), {}};
  int64_t* ends = csr.offsets.mutable_data<int64_t>();
  ends[0] = 0;
  parallel_for(count, kRows, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const int32_t i = members[k];
      // Rows are far apart: first prefetch their offsets, then their entries.
      __builtin_prefetch(rows + members[std::min(k + 2 * kAhead, count - 1)]);
      __builtin_prefetch(sources + rows[members[std::min(k + kAhead, count - 1)]]);
      ends[k + 1] =
          std::count_if(sources + rows[i], sources + rows[i + 1], [&](int32_t j) { return set.contains(j); });
    }
  });
  for (int64_t k = 0; k < count; ++k) ends[k + 1] += ends[k];

  csr.indices = Tensor::empty({ends[count]}, DType::i32);
  result.edges = Tensor::empty({ends[count]}, DType::i32);
  int32_t* source_at = csr.indices.mutable_data<int32_t>();
  int32_t* edge_at = result.edges.mutable_data<int32_t>();
  const Tensor& order = whole.relation().csr_order();
  const int32_t* numbers = order ? order.data<int32_t>() : nullptr;
  parallel_for(count, kRows, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      int64_t entry = ends[k];
      for (int64_t e = rows[members[k]]; e < rows[members[k] + 1]; ++e) {
        if (!set.contains(sources[e])) continue;
        source_at[entry] = set.rank(sources[e]);  // ascending, like the sources
        edge_at[entry++] = numbers != nullptr ? numbers[e] : static_cast<int32_t>(e);
      }
    }
  });

  // A principal submatrix of a symmetric matrix is symmetric; for others it is unknown.
  const std::optional<bool> symmetric = whole.relation().symmetric() ? std::optional(true) : std::nullopt;
  result.graph =
      Graph(Relation::from_csr(std::move(csr), symmetric),
            whole.edge_weight() ? detail::gather_edges(whole.edge_weight(), result.edges) : Tensor(),
            detail::gather_attributes(whole.edge_attributes(), result.edges));
  return result;
}

}  // namespace adj
