#include <adjoint/core/error.h>
#include <adjoint/graph/detail/rank_share.h>
#include <adjoint/graph/edge_attributes.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace adj::detail {

namespace {

/// True if two runs of parallel edges have the same weights, in any order.
bool same_weights(std::vector<float> a, std::vector<float> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

/// Entries on the diagonal, and rows that have one.
std::pair<int64_t, int64_t> count_loops(const Csr& csr, int64_t begin, int64_t end) {
  const int64_t* offsets = csr.offsets.data<int64_t>();
  const int32_t* columns = csr.indices.data<int32_t>();
  int64_t loops = 0, rows = 0;
  for (int64_t i = begin; i < end; ++i) {
    const auto [first, last] =
        std::equal_range(columns + offsets[i], columns + offsets[i + 1], static_cast<int32_t>(i));
    loops += last - first;
    rows += first != last ? 1 : 0;
  }
  return {loops, rows};
}

bool same_numbers(const Tensor& a, const Tensor& b) {
  return a.numel() == b.numel() &&
         (a.numel() == 0 || std::memcmp(a.raw_data(), b.raw_data(), a.bytes()) == 0);
}

}  // namespace

bool weights_symmetric(const Csr& csr, const Tensor& weight, const Tensor& transposed) {
  const std::vector<float> a = weight.to_vector<float>(), b = transposed.to_vector<float>();
  if (a == b) return true;
  const std::vector<int64_t> offsets = csr.offsets.to_vector<int64_t>();
  const std::vector<int32_t> indices = csr.indices.to_vector<int32_t>();
  for (size_t row = 0; row + 1 < offsets.size(); ++row) {
    const auto end = static_cast<size_t>(offsets[row + 1]);
    for (auto first = static_cast<size_t>(offsets[row]), last = first; first < end; first = last) {
      while (last < end && indices[last] == indices[first]) ++last;
      const auto lower = static_cast<std::ptrdiff_t>(first), upper = static_cast<std::ptrdiff_t>(last);
      if (!same_weights({a.begin() + lower, a.begin() + upper}, {b.begin() + lower, b.begin() + upper}))
        return false;
    }
  }
  return true;
}

Graph rank_slice(const RankRows& rank, const Csr& all, const Tensor& order, const Tensor& weight,
                 const EdgeAttributes& attributes) {
  const auto [first, last] = rank.entries(all);
  std::vector<int64_t> offsets = all.offsets.to_vector<int64_t>();
  for (int64_t& offset : offsets) offset = std::clamp(offset, first, last) - first;
  const auto chosen = [&, first = first, last = last](const Tensor& values) {
    if (!values) return Tensor();
    return (order ? gather_edges(values, order.rows(first, last)) : values.rows(first, last))
        .to(Device::cpu());
  };
  Csr rows{all.rows, all.cols, Tensor::from(offsets), all.indices.rows(first, last).to(Device::cpu())};
  EdgeAttributes kept;
  for (const auto& [name, values] : attributes) kept.emplace(name, chosen(values));
  return Graph(Relation::from_csr(std::move(rows), false), chosen(weight), std::move(kept));
}

RankShare::RankShare(RankRows rows, Tensor all_offsets, const Graph& in, Graph reversed)
    : rank(std::move(rows)), offsets(std::move(all_offsets)), out(std::move(reversed)) {
  const auto is_of_rank = [&](const Graph& edges) {
    return edges.device().is_cpu() && !edges.relation().csr_order() &&
           rank.entries(edges.in_edges()) == std::pair(int64_t{0}, edges.num_edges());
  };
  ADJ_CHECK(offsets && offsets.dims() == 1 && offsets.dtype() == DType::i64 &&
                offsets.numel() == rank.cut.rows() + 1,
            "graph: offsets of all in-edges are {}, expected int64 [{}]", offsets.str(), rank.cut.rows() + 1);
  ADJ_CHECK(is_of_rank(in) && is_of_rank(out) && bool{in.edge_weight()} == bool{out.edge_weight()},
            "graph: {} in-edges and {} out-edges of rank {}, expected those of nodes {} to {} alone, on the "
            "CPU, both with weights or both without",
            in.num_edges(), out.num_edges(), rank.group.rank(), rank.begin(), rank.end());
  const Csr &ending = in.in_edges(), &beginning = out.in_edges();
  const bool same =
      same_numbers(ending.offsets, beginning.offsets) && same_numbers(ending.indices, beginning.indices);
  const bool weights =
      same && (!in.edge_weight() || weights_symmetric(ending, in.edge_weight(), out.edge_weight()));
  const auto [diagonal, diagonal_rows] = count_loops(ending, rank.begin(), rank.end());
  const Tensor known = Tensor::from(std::vector<int64_t>{same, weights, diagonal, diagonal_rows}, {1, 4});
  const auto all = rank.group.gather(known).to_vector<int64_t>();
  symmetric_structure = symmetric = true;
  for (size_t k = 0; k < all.size(); k += 4) {
    symmetric_structure = symmetric_structure && all[k] != 0;
    symmetric = symmetric && all[k + 1] != 0;
    loops += all[k + 2];
    looped_nodes += all[k + 3];
  }
}

}  // namespace adj::detail
