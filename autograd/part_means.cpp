#include <adjoint/autograd/detail/part_means.h>
#include <adjoint/core/error.h>
#include <adjoint/graph/detail/row_parts.h>
#include <adjoint/kernels/reduce/reduce.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace adj::detail {

namespace {

/// An index, which it holds so that no other has its storage, and its rows by part.
struct IndexParts {
  Tensor index;
  std::vector<Tensor> parts;
};

const IndexParts& parts_of(const RankRows& rank, const Tensor& index) {
  const int64_t key = index ? static_cast<int64_t>(index.storage_id()) : -1;
  return *RankScope::cache().get<IndexParts>(key, [&] {
    std::vector<int32_t> rows(static_cast<size_t>(index ? 0 : rank.end() - rank.begin()));
    std::iota(rows.begin(), rows.end(), 0);
    if (index) rows = index.to_vector<int32_t>();
    const RowParts range{
        .group = rank.group, .parts = rank.cut.parts(), .offsets = {}, .host_offsets = {}, .cache = {}};
    const auto [first, last] = range.range(rank.group.rank());
    std::vector<std::vector<int32_t>> lists(static_cast<size_t>(last - first));
    const auto begin = rank.cut.begins().begin() + first;
    for (const int32_t row : rows) {
      const auto border = std::upper_bound(begin, begin + (last - first), row + rank.begin());
      lists[static_cast<size_t>(border - begin) - 1].push_back(row);
    }
    auto* result = new IndexParts{index, {}};
    for (const auto& list : lists) result->parts.push_back(Tensor::from(list, rank.group.device()));
    return result;
  });
}

}  // namespace

PartMean mean_by_parts(const char* name, const RankRows& rank, const Tensor& index, DType dtype,
                       const MeanOfRows& mean_of) {
  const std::vector<Tensor>& parts = parts_of(rank, index).parts;
  const Device device = rank.group.device();
  const auto count = std::ssize(parts);
  // Columns: means and weights, which travel together.
  Tensor means = Tensor::zeros({count, 1}, dtype, device), weights = Tensor::zeros({count, 1}, dtype, device);
  for (int64_t p = 0; p < count; ++p) {
    if (parts[static_cast<size_t>(p)].numel() == 0) continue;
    Tensor mean = means.rows(p, p + 1).reshape({}), weight = weights.rows(p, p + 1).reshape({});
    mean_of(parts[static_cast<size_t>(p)], weight, mean);
  }
  if (rank.group.size() > 1) {
    std::vector<int64_t> counts;
    for (int64_t r = 0; r < rank.group.size(); ++r)
      counts.push_back((r + 1) * rank.cut.parts() / rank.group.size() -
                       r * rank.cut.parts() / rank.group.size());
    means = rank.group.gather(means, counts);
    weights = rank.group.gather(weights, counts);
  }
  const Tensor all = weights.reshape({weights.numel()});
  PartMean result{Tensor::empty({}, dtype, device), Tensor::empty({}, dtype, device)};
  Tensor share = Tensor::empty({}, dtype, device);
  kernels::merge_means({.means = means.reshape({means.numel()}),
                        .weights = all,
                        .set = 0,
                        .mean = result.mean,
                        .share = share});
  kernels::sum_all({.x = all, .y = result.total});
  ADJ_CHECK(!device.is_cpu() || result.total.item() != 0.0,
            "{}: no selected row of any rank has a label and a weight above 0", name);
  return result;
}

}  // namespace adj::detail
