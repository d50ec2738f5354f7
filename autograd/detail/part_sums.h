#pragma once

#include <adjoint/graph/detail/row_parts.h>

#include <functional>

namespace adj::detail {

/// [G, W] over all ranks of [G P, W], the sums of this rank's P parts of each group: they are added in pairs,
/// of neighbours, and so on, whichever ranks have them. All ranks call it together.
Tensor sum_parts(const RowParts& parts, const Tensor& sums);

/// What the rank adds to a gradient that GradientSums adds up over ranks, of a sum over all of them: that of
/// the first, and zeros of others.
Tensor share_of_sum(const Group& group, const Tensor& sum);

}  // namespace adj::detail
