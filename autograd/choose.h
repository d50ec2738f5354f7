// Comparisons have no gradient. Saved for backward: the condition.
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

// uint8 1 where it holds, else 0. Operands broadcast as in NumPy and have one floating dtype; NaN compares as
// IEEE has it. Throw Error as add() does.
Tensor less(const Tensor& a, const Tensor& b);           ///< a < b
Tensor less_equal(const Tensor& a, const Tensor& b);     ///< a <= b
Tensor greater(const Tensor& a, const Tensor& b);        ///< a > b
Tensor greater_equal(const Tensor& a, const Tensor& b);  ///< a >= b
Tensor equal(const Tensor& a, const Tensor& b);          ///< a == b
Tensor not_equal(const Tensor& a, const Tensor& b);      ///< a != b
Tensor less(const Tensor& a, double b);                  ///< The same with b for all elements.
Tensor less_equal(const Tensor& a, double b);
Tensor greater(const Tensor& a, double b);
Tensor greater_equal(const Tensor& a, double b);
Tensor equal(const Tensor& a, double b);
Tensor not_equal(const Tensor& a, double b);

/// a where `condition` is not 0, else b. The operands broadcast as in NumPy, to the shape of the condition
/// (uint8). What is not chosen has the gradient 0, also where it is NaN. Throws Error for operands of other
/// shapes, or of different dtypes or devices.
Var where(const Tensor& condition, const Var& a, const Var& b);
Var where(const Tensor& condition, const Var& a, double b);
Var where(const Tensor& condition, double a, const Var& b);

}  // namespace adj
