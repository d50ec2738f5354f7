#include <adjoint/core/text.h>
#include <adjoint/data/import/imported_edges.h>
#include <adjoint/graph/transforms.h>

#include <algorithm>

namespace adj {

namespace {

constexpr int64_t kGrain = 1 << 16;

/// Sorted by source, then target, each edge once. In the memory of the list, for keys of 64 bits are as
/// large.
EdgeIndex distinct(EdgeIndex edges) {
  const int64_t count = edges.src.numel();
  std::vector<uint64_t> keys(static_cast<size_t>(count));
  {
    const int32_t *src = edges.src.data<int32_t>(), *dst = edges.dst.data<int32_t>();
    parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end; ++e)
        keys[static_cast<size_t>(e)] = static_cast<uint64_t>(src[e]) << 32 | static_cast<uint32_t>(dst[e]);
    });
  }
  edges = {};
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const auto left = static_cast<int64_t>(keys.size());
  EdgeIndex result{Tensor::empty({left}, DType::i32), Tensor::empty({left}, DType::i32)};
  int32_t *src = result.src.mutable_data<int32_t>(), *dst = result.dst.mutable_data<int32_t>();
  for (int64_t e = 0; e < left; ++e) {
    src[e] = static_cast<int32_t>(keys[static_cast<size_t>(e)] >> 32);
    dst[e] = static_cast<int32_t>(keys[static_cast<size_t>(e)] & 0xffffffffu);
  }
  return result;
}

template <class T>
Tensor taken(GrowingRows<T>& rows, int64_t room) {
  Tensor all = Tensor::empty({room}, dtype_of<T>());
  rows.drain([to = all.template mutable_data<T>()](std::span<const T> values) mutable {
    to = std::copy(values.begin(), values.end(), to);
  });
  return all;
}

}  // namespace

void ImportedEdges::append(int32_t src, int32_t dst, float weight) {
  if (src == dst) {
    if (drop_self_loops_) return;
    ++loops_;
  }
  src_.append(src);
  dst_.append(dst);
  if (weighted_) weight_.append(weight);
}

Graph ImportedEdges::graph(const std::string& file, int64_t nodes, bool undirected, bool coalesced) {
  const int64_t given = size(), all = undirected ? 2 * given - loops_ : given;
  if (all == 0) data_fail("{}: no edges, expected some", excerpt(file));
  if (all > kMost)
    data_fail("{}: {} edges in both directions, expected {} at most", excerpt(file), all, kMost);
  EdgeIndex edges{taken(src_, all), taken(dst_, all)};
  Tensor weight;
  if (weighted_) weight = taken(weight_, all);
  if (undirected) {
    int32_t *src = edges.src.mutable_data<int32_t>(), *dst = edges.dst.mutable_data<int32_t>();
    float* w = weight ? weight.mutable_data<float>() : nullptr;
    for (int64_t e = 0, at = given; e < given; ++e) {
      if (src[e] == dst[e]) continue;
      src[at] = dst[e];
      dst[at] = src[e];
      if (w != nullptr) w[at] = w[e];
      ++at;
    }
  }
  if (coalesced && weight) return coalesce(Graph::from_coo(nodes, edges.src, edges.dst, weight));
  if (coalesced) edges = distinct(std::move(edges));
  return Graph(Relation::from_coo(nodes, nodes, edges.src, edges.dst), std::move(weight));
}

}  // namespace adj
