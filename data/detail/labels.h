#pragma once

#include <adjoint/core/tensor.h>

namespace adj::detail {

/// True if row i has a label: a class other than -1, or at least one target that is not NaN.
bool is_labelled(const Tensor& y, int64_t i);
/// Number of rows without a label.
int64_t count_unlabelled(const Tensor& y);
/// The labels y [n] or [n, T] followed by unlabelled rows, `rows` together; on their device.
Tensor with_unlabelled(const Tensor& y, int64_t rows);

}  // namespace adj::detail
