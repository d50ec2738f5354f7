#include <adjoint/core/parallel.h>
#include <adjoint/graph/detail/neighborhoods.h>
#include <adjoint/graph/detail/transposed.h>

#include <algorithm>
#include <utility>

namespace adj::detail {

namespace {

constexpr int64_t kRowGrain = 1 << 11;

/// Calls f(neighbor, edges) for each neighbour of node i, ascending.
template <class F>
void for_neighbors(const Csr& in, const Csr& out, int64_t i, F&& f) {
  const auto row = [i](const Csr& csr) {
    const int64_t* offsets = csr.offsets.data<int64_t>();
    const int32_t* indices = csr.indices.data<int32_t>();
    return std::span(indices + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i]));
  };
  const std::span<const int32_t> a = row(in), b = row(out);
  for (size_t p = 0, q = 0; p < a.size() || q < b.size();) {
    const int32_t next = q == b.size() || (p < a.size() && a[p] < b[q]) ? a[p] : b[q];
    int64_t count = 0;
    for (; p < a.size() && a[p] == next; ++p) ++count;
    for (; q < b.size() && b[q] == next; ++q) ++count;
    if (next != i) f(next, count);
  }
}

}  // namespace

Neighborhoods neighborhoods(const char* op, const Relation& relation, bool counted) {
  ADJ_CHECK(relation && relation.num_src() == relation.num_dst(),
            "{}: a relation of {} sources to {} targets, expected one set of nodes", op,
            relation ? relation.num_src() : 0, relation ? relation.num_dst() : 0);
  const Csr in = relation.csr().to(Device::cpu()), out = transposed(in);
  const int64_t nodes = in.rows;
  Neighborhoods result;
  result.offsets.assign(static_cast<size_t>(nodes) + 1, 0);
  adj::parallel_for(nodes, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t count = 0;
      for_neighbors(in, out, i, [&](int32_t, int64_t) { ++count; });
      result.offsets[static_cast<size_t>(i) + 1] = count;
    }
  });
  for (size_t i = 1; i < result.offsets.size(); ++i) result.offsets[i] += result.offsets[i - 1];
  result.neighbors.resize(static_cast<size_t>(result.offsets.back()));
  if (counted) result.edges.resize(result.neighbors.size());
  adj::parallel_for(nodes, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      auto k = static_cast<size_t>(result.offsets[static_cast<size_t>(i)]);
      for_neighbors(in, out, i, [&](int32_t neighbor, int64_t edges) {
        result.neighbors[k] = neighbor;
        if (counted) result.edges[k] = static_cast<int32_t>(edges);
        ++k;
      });
    }
  });
  const auto other = std::adjacent_find(result.edges.begin(), result.edges.end(), std::not_equal_to<>());
  if (other == result.edges.end()) result.edges = {};
  return result;
}

std::vector<int32_t> nodes_by(const std::vector<int64_t>& key) {
  const int64_t largest = key.empty() ? 0 : *std::max_element(key.begin(), key.end());
  std::vector<int64_t> place(static_cast<size_t>(largest) + 1, 0);
  for (const int64_t k : key) ++place[static_cast<size_t>(k)];
  int64_t before = 0;
  for (int64_t& count : place) before += std::exchange(count, before);
  std::vector<int32_t> nodes(key.size());
  for (size_t i = 0; i < key.size(); ++i)
    nodes[static_cast<size_t>(place[static_cast<size_t>(key[i])]++)] = static_cast<int32_t>(i);
  return nodes;
}

}  // namespace adj::detail
