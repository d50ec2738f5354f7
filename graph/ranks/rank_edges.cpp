#include <adjoint/core/error.h>
#include <adjoint/graph/ranks/rank_edges.h>

namespace adj {

std::pair<int64_t, int64_t> RankRows::entries(const Csr& all) const {
  ADJ_CHECK(all.rows == cut.rows() && all.cols == cut.rows(),
            "ranks: a structure of {} rows and {} columns, expected {} of both, as they are cut", all.rows,
            all.cols, cut.rows());
  const auto entry = [&](int64_t row) { return all.offsets.rows(row, row + 1).to_vector<int64_t>()[0]; };
  return {entry(begin()), entry(end())};
}

Csr RankRows::rows(const Csr& all) const {
  const auto [first, last] = entries(all);
  std::vector<int64_t> offsets = all.offsets.rows(begin(), end() + 1).to_vector<int64_t>();
  for (int64_t& offset : offsets) offset -= first;
  Csr part{end() - begin(), all.cols, Tensor::from(offsets, group.device()),
           all.indices.rows(first, last).to(group.device())};
  part.ascending = all.ascending;
  return part;
}

std::vector<int64_t> RankRows::counts() const {
  std::vector<int64_t> counts;
  for (int64_t rank = 0; rank < group.size(); ++rank) {
    const auto [first, last] = cut.rows_of(rank, group.size());
    counts.push_back(last - first);
  }
  return counts;
}

Tensor RankRows::gather(const Tensor& x) const { return group.size() == 1 ? x : group.gather(x, counts()); }

Tensor RankRows::values(const Csr& all, const Tensor& values) const {
  if (!values) return {};
  const auto [first, last] = entries(all);
  const Tensor part = values.rows(first, last);
  // Not a view that would keep the others.
  return group.device().is_cpu() && part.numel() < values.numel() ? part.clone() : part.to(group.device());
}

}  // namespace adj
