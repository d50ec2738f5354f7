#pragma once

#include <adjoint/core/tensor.h>
#include <adjoint/graph/ranks/rank_scope.h>

#include <functional>

namespace adj::detail {

/// A mean over rows of all ranks, and the weight of all of its terms.
struct PartMean {
  Tensor mean, total;
};

/// Sets `total` to the weight of the terms of rows `index`, one at least, and `mean` to their mean: scalars.
using MeanOfRows = std::function<void(const Tensor& index, Tensor& total, Tensor& mean)>;

/// The mean over the rows `index` (absent: all) of this rank and those of others, in a scope by parts: that
/// of each part, and these in order, whichever ranks have them. `like`: dtype and device. All ranks call it
/// together. Throws Error on the CPU if there is no term with a weight.
PartMean mean_by_parts(const char* name, const RankRows& rank, const Tensor& index, DType dtype,
                       const MeanOfRows& mean_of);

}  // namespace adj::detail
