#include <adjoint/core/parallel.h>
#include <adjoint/data/import/detail/edge_rows.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace adj {

Csr detail::edge_rows(int64_t nodes, const EdgeIndex& edges, bool inverse) {
  const int64_t count = edges.src.numel();
  const int32_t *src = edges.src.data<int32_t>(), *dst = edges.dst.data<int32_t>();
  Csr csr;
  csr.rows = csr.cols = nodes;
  csr.ascending = true;
  csr.offsets = Tensor::zeros({nodes + 1}, DType::i64);
  csr.indices = Tensor::empty({inverse ? 2 * count : count}, DType::i32);
  int64_t* offsets = csr.offsets.mutable_data<int64_t>();
  int32_t* indices = csr.indices.mutable_data<int32_t>();
  for (int64_t e = 0; e < count; ++e) {
    ++offsets[dst[e] + 1];
    if (inverse) ++offsets[src[e] + 1];
  }
  std::partial_sum(offsets, offsets + nodes + 1, offsets);
  std::vector<int64_t> next(offsets, offsets + nodes);
  for (int64_t e = 0; e < count; ++e) {
    indices[next[static_cast<size_t>(dst[e])]++] = src[e];
    if (inverse) indices[next[static_cast<size_t>(src[e])]++] = dst[e];
  }
  adj::parallel_for(nodes, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) std::sort(indices + offsets[i], indices + offsets[i + 1]);
  });
  return csr;
}

EdgeIndex detail::edges_of(const Tensor& pairs) {
  const int64_t edges = pairs.size(0);
  EdgeIndex list{Tensor::empty({edges}, DType::i32), Tensor::empty({edges}, DType::i32)};
  const int32_t* pair = pairs.data<int32_t>();
  int32_t *src = list.src.mutable_data<int32_t>(), *dst = list.dst.mutable_data<int32_t>();
  for (int64_t e = 0; e < edges; ++e) {
    src[e] = pair[2 * e];
    dst[e] = pair[2 * e + 1];
  }
  return list;
}

}  // namespace adj
