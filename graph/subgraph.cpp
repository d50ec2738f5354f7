#include <adjoint/core/parallel.h>
#include <adjoint/graph/detail/node_set.h>
#include <adjoint/graph/subgraph.h>

#include <algorithm>
#include <optional>

namespace adj {

namespace {

/// The graph of `csr`, a principal submatrix, whose entry k is the edge edges[k] of the whole.
Graph part_of(const Graph& whole, Csr csr, const Tensor& edges) {
  // Of a symmetric matrix it is symmetric; for others it is unknown.
  const std::optional<bool> symmetric = whole.relation().symmetric() ? std::optional(true) : std::nullopt;
  return Graph(Relation::from_csr(std::move(csr), symmetric),
               whole.edge_weight() ? detail::gather_edges(whole.edge_weight(), edges) : Tensor(),
               detail::gather_attributes(whole.edge_attributes(), edges));
}

}  // namespace

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

  result.graph = part_of(whole, std::move(csr), result.edges);
  return result;
}

namespace {

void check_offsets(const Graph& whole, const Tensor& offsets) {
  ADJ_CHECK(offsets && offsets.dims() == 1 && offsets.numel() >= 1 && offsets.dtype() == DType::i64 &&
                !offsets.is_cuda() && !whole.device().is_cuda(),
            "pick_graphs: offsets are {} for a graph on {}, expected int64 [G + 1], both on the CPU",
            offsets.str(), whole.device().str());
  const int64_t* bounds = offsets.data<int64_t>();
  const int64_t graphs = offsets.numel() - 1;
  ADJ_CHECK(bounds[0] == 0 && bounds[graphs] == whole.num_nodes(),
            "pick_graphs: offsets from {} to {}, expected 0 to {} nodes", bounds[0], bounds[graphs],
            whole.num_nodes());
}

/// The nodes [begin, end) of the graph at position `place` of the selection.
struct Range {
  int64_t begin, end;
};

std::vector<Range> ranges_of(const Tensor& offsets, const Tensor& which) {
  ADJ_CHECK(which && which.dims() == 1 && which.dtype() == DType::i32 && !which.is_cuda(),
            "pick_graphs: the graphs are {}, expected int32 [K] on the CPU", which.str());
  const int64_t* bounds = offsets.data<int64_t>();
  const int32_t* picked = which.data<int32_t>();
  const int64_t graphs = offsets.numel() - 1;
  std::vector<Range> ranges;
  for (int64_t k = 0; k < which.numel(); ++k) {
    const int64_t g = picked[k];
    ADJ_CHECK(g >= 0 && g < graphs, "pick_graphs: graph {} at position {}, expected 0 to {}", g, k,
              graphs - 1);
    ADJ_CHECK(bounds[g] >= 0 && bounds[g] <= bounds[g + 1] && bounds[g + 1] <= bounds[graphs],
              "pick_graphs: offsets[{}] is {} and offsets[{}] is {}, expected ascending to {}", g, bounds[g],
              g + 1, bounds[g + 1], bounds[graphs]);
    ranges.push_back({bounds[g], bounds[g + 1]});
  }
  return ranges;
}

}  // namespace

PickedGraphs pick_graphs(const Graph& whole, const Tensor& offsets, const Tensor& which) {
  check_offsets(whole, offsets);
  const std::vector<Range> ranges = ranges_of(offsets, which);
  const Csr& in = whole.in_edges();
  const int64_t* rows = in.offsets.data<int64_t>();
  const int32_t* sources = in.indices.data<int32_t>();
  int64_t nodes = 0, edges = 0;
  for (const Range& r : ranges) {
    nodes += r.end - r.begin;
    edges += rows[r.end] - rows[r.begin];
  }
  ADJ_CHECK(nodes < kernels::kMaxEntries && edges < kernels::kMaxEntries,
            "pick_graphs: {} nodes and {} edges together, expected fewer than 2^31", nodes, edges);

  PickedGraphs picked{
      {}, Tensor::empty({std::ssize(ranges) + 1}, DType::i64), Tensor::empty({nodes}, DType::i32)};
  Csr csr{nodes, nodes, Tensor::empty({nodes + 1}, DType::i64), Tensor::empty({edges}, DType::i32)};
  const bool by_edge = whole.edge_weight() || !whole.edge_attributes().empty();
  Tensor edge_of = by_edge ? Tensor::empty({edges}, DType::i32) : Tensor();
  const Tensor& order = whole.relation().csr_order();
  const int32_t* numbers = order ? order.data<int32_t>() : nullptr;
  int64_t* graph_at = picked.offsets.mutable_data<int64_t>();
  int32_t* node_at = picked.nodes.mutable_data<int32_t>();
  int64_t* row_at = csr.offsets.mutable_data<int64_t>();
  int32_t* source_at = csr.indices.mutable_data<int32_t>();
  int32_t* edge_at = by_edge ? edge_of.mutable_data<int32_t>() : nullptr;

  int64_t node = 0, edge = 0;
  for (const Range& r : ranges) {
    *graph_at++ = node;
    const int64_t shift = node - r.begin, edge_shift = edge - rows[r.begin];
    for (int64_t i = r.begin; i < r.end; ++i) {
      node_at[node] = static_cast<int32_t>(i);
      row_at[node++] = rows[i] + edge_shift;
    }
    for (int64_t e = rows[r.begin]; e < rows[r.end]; ++e, ++edge) {
      ADJ_CHECK(sources[e] >= r.begin && sources[e] < r.end,
                "pick_graphs: an edge from node {} leads into the graph of nodes {} to {}, expected edges "
                "within graphs",
                sources[e], r.begin, r.end - 1);
      source_at[edge] = static_cast<int32_t>(sources[e] + shift);
      if (by_edge) edge_at[edge] = numbers != nullptr ? numbers[e] : static_cast<int32_t>(e);
    }
  }
  *graph_at = node;
  row_at[node] = edge;

  picked.graph = part_of(whole, std::move(csr), edge_of);
  return picked;
}

}  // namespace adj
