#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>
#include <adjoint/graph/ranks/halo.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/index/gather.h>

#include <algorithm>
#include <atomic>
#include <numeric>

namespace adj {

namespace {

constexpr int64_t kColumnsAtOnce = int64_t{1} << 16;

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

/// A row for each of `rows` rows: its places in the rows that all ranks send back, one block for each list,
/// in that order.
Csr copies_of(int64_t rows, const std::vector<std::vector<int32_t>>& lists, Device device) {
  std::vector<int64_t> offsets(static_cast<size_t>(rows) + 1, 0);
  for (const auto& list : lists)
    for (const int32_t row : list) ++offsets[static_cast<size_t>(row) + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<int64_t> next = offsets;
  std::vector<int32_t> places(static_cast<size_t>(offsets.back()));
  int32_t place = 0;
  for (const auto& list : lists)
    for (const int32_t row : list) places[static_cast<size_t>(next[static_cast<size_t>(row)]++)] = place++;
  return {rows, std::ssize(places), Tensor::from(offsets, device), Tensor::from(places, device)};
}

}  // namespace

Halo::Halo(Group group, const RowCut& cut, const Csr& rows, DType wire)
    : group_(std::move(group)), wire_(wire) {
  ADJ_CHECK(wire == DType::f32 || wire == DType::bf16, "Halo: {} on the wire, expected float32 or bfloat16",
            name_of(wire));
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
  // The places of all columns that the rank's entries name, and of its rows, in ascending order; else -1.
  std::vector<int32_t> columns = rows.indices.to_vector<int32_t>();
  std::vector<int32_t> place(static_cast<size_t>(rows.cols), -1), names;
  parallel_for(std::ssize(columns), kColumnsAtOnce, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k)
      std::atomic_ref(place[static_cast<size_t>(columns[static_cast<size_t>(k)])])
          .store(0, std::memory_order_relaxed);
  });
  std::fill(place.begin() + begin, place.begin() + end, 0);
  for (int64_t j = 0; j < rows.cols; ++j) {
    if (place[static_cast<size_t>(j)] < 0) continue;
    place[static_cast<size_t>(j)] = static_cast<int32_t>(names.size());
    names.push_back(static_cast<int32_t>(j));
  }
  parallel_for(std::ssize(columns), kColumnsAtOnce, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) {
      int32_t& column = columns[static_cast<size_t>(k)];
      column = place[static_cast<size_t>(column)];
    }
  });
  const Device device = rows.device();
  structure_ = {rows.rows, std::ssize(names), rows.offsets, Tensor::from(columns, device)};
  structure_.ascending = rows.ascending;
  structure_.whole = rows.whole;
  if (!rows.whole) {
    const auto counts = group_.gather(Tensor::from(std::vector{rows.entries()})).to_vector<int64_t>();
    structure_.whole = CsrSizes{cut.rows(), std::accumulate(counts.begin(), counts.end(), int64_t{0})};
  }

  const auto named_before = [&](int64_t row) {
    return std::lower_bound(names.begin(), names.end(), row) - names.begin();
  };
  std::vector<std::vector<int32_t>> needs(ranks);  // by rank, in the order of its rows
  for (size_t p = 0; p < ranks; ++p) {
    const auto [first, last] = cut.rows_of(static_cast<int64_t>(p), group_.size());
    begins_[p] = named_before(first);
    begins_[p + 1] = named_before(last);
    if (static_cast<int64_t>(p) == group_.rank()) continue;
    for (int64_t k = begins_[p]; k < begins_[p + 1]; ++k)
      needs[p].push_back(names[static_cast<size_t>(k)] - static_cast<int32_t>(first));
    received_ += std::ssize(needs[p]);
  }
  sends_ = exchange_lists(group_, needs);
  std::vector<std::vector<int32_t>> copies;
  for (Tensor& list : sends_) {
    sent_ += list.numel();
    copies.push_back(list.to_vector<int32_t>());
    list = list.to(device);
  }
  std::vector<int32_t>& all_rows = copies[static_cast<size_t>(group_.rank())];
  all_rows.resize(static_cast<size_t>(rows.rows));
  std::iota(all_rows.begin(), all_rows.end(), 0);
  copies_ = copies_of(rows.rows, copies, device);
}

void Halo::exchange(std::span<Tensor> sends, std::span<Tensor> receives) const {
  const auto local = static_cast<size_t>(group_.rank());
  if (wire_for(sends[local]) == sends[local].dtype()) return group_.exchange(sends, receives);
  receives[local].copy_(sends[local]);
  std::vector<Tensor> rounded;
  for (size_t p = 0; p < sends.size(); ++p) {
    if (p == local) sends[p] = receives[p] = {};
    if (sends[p]) sends[p] = sends[p].to(wire_);
    rounded.push_back(receives[p] ? Tensor::empty(receives[p].shape(), wire_, receives[p].device())
                                  : Tensor());
  }
  group_.exchange(sends, rounded);
  for (size_t p = 0; p < sends.size(); ++p)
    if (receives[p]) receives[p].copy_(rounded[p].to(DType::f32));
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
  exchange(sends, receives);
  return all;
}

Tensor Halo::sum_back(const Tensor& dy) const {
  ADJ_CHECK(dy && dy.dims() == 2 && dy.size(0) == structure_.cols,
            "Halo: dy is {}, expected the {} rows that rank {} gathered", dy.str(), structure_.cols,
            group_.rank());
  if (group_.size() == 1) return dy;
  Tensor all = Tensor::empty({copies_.cols, dy.size(1)}, dy.dtype(), dy.device());
  std::vector<Tensor> sends(sends_.size()), receives(sends_.size());
  int64_t place = 0;
  for (size_t p = 0; p < sends.size(); ++p) {
    const bool local = static_cast<int64_t>(p) == group_.rank();
    const int64_t copies = local ? structure_.rows : sends_[p].numel();
    if (begins_[p + 1] > begins_[p] || local) sends[p] = dy.rows(begins_[p], begins_[p + 1]);
    if (copies > 0 || local) receives[p] = all.rows(place, place + copies);
    place += copies;
  }
  exchange(sends, receives);
  Tensor sums = Tensor::empty({structure_.rows, dy.size(1)}, dy.dtype(), dy.device());
  kernels::spmm({.a = {copies_, {}, {}}, .x = all, .y = sums});
  return sums;
}

Halo Halo::with_structure(Csr structure) const {
  ADJ_CHECK(structure.rows == structure_.rows && structure.cols == structure_.cols,
            "Halo: {} rows of {} columns, expected {} of {}", structure.rows, structure.cols, structure_.rows,
            structure_.cols);
  Halo other = *this;
  other.structure_ = std::move(structure);
  return other;
}

}  // namespace adj
