#include <adjoint/core/parallel.h>
#include <adjoint/graph/all_pairs.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace adj {

Relation all_pairs(const Tensor& offsets) {
  constexpr int64_t kMost = (int64_t{1} << 31) - (int64_t{1} << 16);  // edges of a Relation
  ADJ_CHECK(offsets && offsets.dims() == 1 && offsets.dtype() == DType::i64 && offsets.numel() >= 1,
            "all_pairs: offsets are {}, expected int64 [G + 1]", offsets.str());
  const std::vector<int64_t> begins = offsets.to_vector<int64_t>();
  ADJ_CHECK(begins.front() == 0 && std::is_sorted(begins.begin(), begins.end()),
            "all_pairs: offsets, expected to ascend from 0");
  const int64_t nodes = begins.back();
  int64_t pairs = 0, largest = 0;
  for (size_t g = 1; g < begins.size(); ++g) {
    const int64_t count = begins[g] - begins[g - 1];
    largest = std::max(largest, count);
    ADJ_CHECK(count <= kMost / std::max<int64_t>(1, count) && pairs <= kMost - count * count,
              "all_pairs: a graph has {} nodes, too many for attention between all of them: expected fewer "
              "than 2^31 "
              "pairs of nodes in a batch",
              largest);
    pairs += count * count;
  }
  Csr csr{nodes, nodes, Tensor::empty({nodes + 1}, DType::i64), Tensor::empty({pairs}, DType::i32)};
  int64_t* row = csr.offsets.mutable_data<int64_t>();
  int32_t* column = csr.indices.mutable_data<int32_t>();
  row[0] = 0;
  for (size_t g = 1; g < begins.size(); ++g)
    for (int64_t i = begins[g - 1]; i < begins[g]; ++i) row[i + 1] = row[i] + begins[g] - begins[g - 1];
  parallel_for(std::ssize(begins) - 1, 16, [&](int64_t first, int64_t last) {
    for (int64_t g = first; g < last; ++g) {
      const int64_t begin = begins[static_cast<size_t>(g)], end = begins[static_cast<size_t>(g) + 1];
      for (int64_t i = begin; i < end; ++i)
        std::iota(column + row[i], column + row[i + 1], static_cast<int32_t>(begin));
    }
  });
  const Device device = offsets.device();
  csr.offsets = csr.offsets.to(device);
  csr.indices = csr.indices.to(device);
  return Relation::from_csr(std::move(csr), true);
}

}  // namespace adj
