#pragma once

#include <adjoint/autograd/variable.h>

#include <vector>

namespace adj {

/// The same elements under another shape, as a view. One extent may be -1.
Var reshape(const Var& x, std::initializer_list<int64_t> extents);
Var reshape(const Var& x, const Shape& shape);

/// Indices [begin, begin + length) of dimension `dim` (negative counts from the end). Dim 0 of any tensor is
/// a view; the columns of a matrix (dim 1) are copied.
Var narrow(const Var& x, int dim, int64_t begin, int64_t length);

/// Dimensions `first` and `second` (negative count from the end) exchanged; a copy.
Var transpose(const Var& x, int first = 0, int second = 1);

/// Concatenation along dimension `dim`: 0 stacks rows, 1 stacks columns. Other extents, dtypes and devices
/// must be equal.
Var cat(const std::vector<Var>& parts, int dim = 0);

}  // namespace adj
