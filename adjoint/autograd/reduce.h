#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

/// Σ x and its mean, any shape, as a scalar.
Var sum(const Var& x);
Var mean(const Var& x);
/// [F]: over the rows of x[N,F].
Var sum_rows(const Var& x);
/// [N]: over its columns.
Var sum_columns(const Var& x);

}  // namespace adj
