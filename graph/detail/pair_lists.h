#pragma once

#include <adjoint/core/group.h>
#include <adjoint/graph/ranks/row_cut.h>
#include <adjoint/kernels/types/csr.h>

#include <cstdint>
#include <numeric>
#include <vector>

// Lists of edges and pairs on the host, of which rank_typed_edges() is made.
namespace adj::detail {

using Ints = std::vector<int32_t>;

inline size_t index(int64_t k) { return static_cast<size_t>(k); }

/// The numbers of `order` by key, those of one key in their order.
inline Ints stably_sorted(const Ints& order, const Ints& keys, int64_t count) {
  std::vector<int64_t> next(index(count) + 1, 0);
  for (const int32_t k : order) ++next[index(keys[index(k)]) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  Ints sorted(order.size());
  for (const int32_t k : order) sorted[index(next[index(keys[index(k)])]++)] = k;
  return sorted;
}

inline Ints numbered(size_t count) {
  Ints numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// Pairs of a type and a node of this rank.
struct Pairs {
  Ints of_edge;                  ///< by edge
  Ints nodes, degrees;           ///< by pair
  std::vector<int64_t> offsets;  ///< by type

  Pairs(const Ints& node, int64_t nodes_here, const Ints& type, int64_t types)
      : of_edge(node.size()), offsets(index(types) + 1, 0) {
    int32_t last = -1;
    for (const int32_t e :
         stably_sorted(stably_sorted(numbered(node.size()), node, nodes_here), type, types)) {
      const bool begins =
          last < 0 || node[index(e)] != node[index(last)] || type[index(e)] != type[index(last)];
      if (begins) {
        nodes.push_back(node[index(e)]);
        degrees.push_back(0);
        ++offsets[index(type[index(e)]) + 1];
      }
      ++degrees.back();
      of_edge[index(e)] = static_cast<int32_t>(nodes.size()) - 1;
      last = e;
    }
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  }
};

/// int32 lists of known lengths to and from every rank.
inline Ints exchanged(const Group& group, const std::vector<Ints>& lists,
                      const std::vector<int64_t>& counts) {
  std::vector<Tensor> sends, receives;
  for (size_t p = 0; p < lists.size(); ++p) {
    sends.push_back(Tensor::from(lists[p]));
    receives.push_back(Tensor::empty({counts[p]}, DType::i32));
  }
  group.exchange(sends, receives);
  Ints all;
  for (const Tensor& list : receives) {
    const Ints part = list.to_vector<int32_t>();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// Where each rank's begin, and their number.
inline RowCut cut_of_counts(const Group& group, int64_t count) {
  std::vector<int64_t> begins{0};
  for (const int64_t n : group.gather(Tensor::from(std::vector{count})).to_vector<int64_t>())
    begins.push_back(begins.back() + n);
  return RowCut(begins);
}

/// Rows of entries: `order` has them by row.
inline Csr rows_of(int64_t rows, int64_t cols, const Ints& order, const Ints& row, const Ints& column,
                   Device device) {
  std::vector<int64_t> offsets(index(rows) + 1, 0);
  Ints columns;
  columns.reserve(order.size());
  for (const int32_t e : order) {
    ++offsets[index(row[index(e)]) + 1];
    columns.push_back(column[index(e)]);
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  Csr csr{rows, cols, Tensor::from(offsets, device), Tensor::from(columns, device)};
  csr.ascending = false;
  return csr;
}

}  // namespace adj::detail
