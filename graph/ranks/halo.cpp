#include <adjoint/core/error.h>
#include <adjoint/graph/ranks/halo.h>
#include <adjoint/kernels/index/gather.h>

#include <algorithm>
#include <numeric>

namespace adj {

namespace {

/// int32 lists to and from every rank, whose lengths the receivers do not know.
std::vector<Tensor> exchange_lists(const Group& group, const std::vector<std::vector<int32_t>>& lists) {
  std::vector<Tensor> sends, receives(lists.size());
  for (const std::vector<int32_t>& list : lists) sends.push_back(Tensor::from(std::vector{std::ssize(list)}));
  for (Tensor& count : receives) count = Tensor::empty({1}, DType::i64);
  group.exchange(sends, receives);
  for (size_t p = 0; p < lists.size(); ++p) {
    sends[p] = Tensor::from(lists[p]);
    receives[p] = Tensor::empty({receives[p].data<int64_t>()[0]}, DType::i32);
  }
  group.exchange(sends, receives);
  return receives;
}

}  // namespace

Halo::Halo(Group group, const RowCut& cut, const Csr& rows) : group_(std::move(group)) {
  const auto [begin, end] = cut.rows_of(group_.rank(), group_.size());
  ADJ_CHECK(rows.rows == end - begin && rows.cols == cut.rows(),
            "Halo: {} rows of {} columns, expected {} of {}, as they are cut", rows.rows, rows.cols,
            end - begin, cut.rows());
  const auto ranks = static_cast<size_t>(group_.size());
  begins_.assign(ranks + 1, 0);
  if (ranks == 1) {
    structure_ = rows;
    begins_[1] = rows.cols;
    return;
  }
  // All columns that the rank's entries name, and its rows.
  std::vector<int32_t> columns = rows.indices.to_vector<int32_t>();
  std::vector<int32_t> names = columns;
  for (int64_t i = begin; i < end; ++i) names.push_back(static_cast<int32_t>(i));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto place = [&](int64_t row) {
    return std::lower_bound(names.begin(), names.end(), row) - names.begin();
  };
  for (int32_t& column : columns) column = static_cast<int32_t>(place(column));
  const Device device = rows.device();
  structure_ = {rows.rows, std::ssize(names), rows.offsets, Tensor::from(columns, device)};
  structure_.ascending = rows.ascending;
  structure_.whole = rows.whole;
  if (!rows.whole) {
    const auto counts = group_.gather(Tensor::from(std::vector{rows.entries()})).to_vector<int64_t>();
    structure_.whole = CsrSizes{cut.rows(), std::accumulate(counts.begin(), counts.end(), int64_t{0})};
  }

  std::vector<std::vector<int32_t>> needs(ranks);  // by rank, in the order of its rows
  for (size_t p = 0; p < ranks; ++p) {
    const auto [first, last] = cut.rows_of(static_cast<int64_t>(p), group_.size());
    begins_[p] = place(first);
    begins_[p + 1] = place(last);
    if (static_cast<int64_t>(p) == group_.rank()) continue;
    for (int64_t k = begins_[p]; k < begins_[p + 1]; ++k)
      needs[p].push_back(names[static_cast<size_t>(k)] - static_cast<int32_t>(first));
    received_ += std::ssize(needs[p]);
  }
  sends_ = exchange_lists(group_, needs);
  for (Tensor& list : sends_) {
    sent_ += list.numel();
    list = list.to(device);
  }
}

Tensor Halo::gather(const Tensor& x) const {
  ADJ_CHECK(x && x.dims() == 2 && x.size(0) == structure_.rows,
            "Halo: x is {}, expected the {} rows of rank {}", x.str(), structure_.rows, group_.rank());
  if (group_.size() == 1) return x;
  Tensor all = Tensor::empty({structure_.cols, x.size(1)}, x.dtype(), x.device());
  std::vector<Tensor> sends(sends_.size()), receives(sends_.size());
  for (size_t p = 0; p < sends.size(); ++p) {
    const bool local = static_cast<int64_t>(p) == group_.rank();
    if (local) sends[p] = x;
    if (!local && sends_[p].numel() > 0) {
      sends[p] = Tensor::empty({sends_[p].numel(), x.size(1)}, x.dtype(), x.device());
      kernels::gather_rows({.x = x, .index = sends_[p], .y = sends[p]});
    }
    if (begins_[p + 1] > begins_[p] || local) receives[p] = all.rows(begins_[p], begins_[p + 1]);
  }
  group_.exchange(sends, receives);
  return all;
}

}  // namespace adj
