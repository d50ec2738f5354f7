#pragma once

#include <adjoint/core/tensor.h>

namespace adj::detail {

/// Labels as a Dataset has them: does row i have one? A class that is not -1, or a target, not nan, in one of
/// the columns at least.
bool is_labelled(const Tensor& y, int64_t i);
/// The rows that have none.
int64_t count_unlabelled(const Tensor& y);

}  // namespace adj::detail
