#include <adjoint/core/error.h>
#include <adjoint/graph/ranks/row_cut.h>

#include <algorithm>

namespace adj {

RowCut::RowCut(const Tensor& offsets, int64_t parts) {
  ADJ_CHECK(parts >= 1, "RowCut: {} parts, expected 1 or more", parts);
  ADJ_CHECK(offsets && offsets.dims() == 1 && offsets.dtype() == DType::i64 && offsets.numel() >= 1,
            "RowCut: offsets are {}, expected int64 [rows + 1]", offsets.str());
  const std::vector<int64_t> first = offsets.to_vector<int64_t>();
  const int64_t entries = first.back();
  begins_.push_back(0);
  for (int64_t k = 1; k < parts; ++k) {
    // entries * k does not overflow: there are less than 2^31 of each.
    const int64_t wanted = entries * k / parts;
    auto row = std::lower_bound(first.begin(), first.end(), wanted);
    if (row != first.begin() && wanted - row[-1] <= *row - wanted) --row;
    const int64_t nearest = (static_cast<int64_t>(row - first.begin()) + kAligned / 2) / kAligned * kAligned;
    begins_.push_back(std::clamp(nearest, begins_.back(), std::ssize(first) - 1));
  }
  begins_.push_back(std::ssize(first) - 1);
}

RowCut::RowCut(std::vector<int64_t> begins) : begins_(std::move(begins)) {
  ADJ_CHECK(begins_.size() >= 2 && begins_.front() == 0 && std::is_sorted(begins_.begin(), begins_.end()),
            "RowCut: {} first rows, expected two or more that ascend from 0", begins_.size());
}

std::pair<int64_t, int64_t> RowCut::rows_of(int64_t rank, int64_t ranks) const {
  ADJ_CHECK(ranks >= 1 && ranks <= parts() && rank >= 0 && rank < ranks,
            "RowCut: rank {} of {}, expected at most {} ranks, one for a part", rank, ranks, parts());
  const auto begin = [&](int64_t r) { return begins_[static_cast<size_t>(r * parts() / ranks)]; };
  return {begin(rank), begin(rank + 1)};
}

}  // namespace adj
