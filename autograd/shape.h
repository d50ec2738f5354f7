#pragma once

#include <adjoint/autograd/variable.h>

#include <vector>

namespace adj {

/// The same elements under another shape, without a copy. One extent may be -1.
Var reshape(const Var& x, std::initializer_list<int64_t> extents);
Var reshape(const Var& x, const Shape& shape);

/// Indices [begin, begin + length) of dimension `dim` (negative counts from the end): rows by dim 0, without
/// a copy, the columns of a matrix by dim 1.
Var narrow(const Var& x, int dim, int64_t begin, int64_t length);

/// The parts joined along dimension `dim`: below each other by dim 0, side by side by dim 1. Their other
/// extents, dtypes and devices are equal.
Var cat(const std::vector<Var>& parts, int dim = 0);

}  // namespace adj
