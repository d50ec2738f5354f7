// The gradient goes to the elements that were taken. Saved for backward: their positions.
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

/// Result of sort() and topk(): the `values`, with x's dtype, and where they were.
struct Sorted {
  Var values;
  Tensor indices;  ///< int32, shape of the values: index along the dimension
};

/// x sorted along dimension `dim` (negative counts from the end). Equal numbers stay in their order, NaN
/// counts as the largest number. Throws Error for a scalar, and for 2^31 elements or more.
Sorted sort(const Var& x, int dim = -1, bool descending = false);

/// The `k` largest (or smallest) elements along dimension `dim`, the first of them the largest; of equal ones
/// those with smaller indices. Throws Error as sort() does, and for a k below 0 or above the extent.
Sorted topk(const Var& x, int64_t k, int dim = -1, bool largest = true);

}  // namespace adj
