// Pooling over ranges of rows, such as the nodes of each graph of a batch. A segment reduction is a product
// with a selection matrix that has the segments as rows; its gradient is one with the transpose, which has a
// single entry a row. What balances heavy rows in sparse products balances long segments too.
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

namespace detail {

/// Throws unless `offsets` are int64 [G + 1], begin at 0, ascend and end at `rows`. Their contents are looked
/// at on the CPU only: on a GPU the host would have to wait.
void check_segments(const char* op, const Tensor& offsets, int64_t rows, Device device);

/// The row numbers 0, 1, …
Tensor row_numbers(int64_t rows, Device device);

}  // namespace detail

/// y[G,F]: y_g = Σ of the rows offsets[g] … offsets[g + 1] of x[N,F]. `offsets` int64 [G + 1] from 0 to N,
/// ascending (contents checked on the CPU alone), on x's device. Empty segments give 0. Each segment is
/// summed in an order that depends on the offsets alone.
Var segment_sum(const Var& x, const Tensor& offsets);

/// Likewise the mean.
Var segment_mean(const Var& x, const Tensor& offsets);

/// The other way round: row i of y[rows,F] is that of x[G,F] in whose segment i is. `offsets` as above, from
/// 0 to `rows`. Its gradient is segment_sum.
Var segment_expand(const Var& x, const Tensor& offsets, int64_t rows);

/// Likewise the largest or smallest of each feature; ties, and the gradient, go to the first such row.
Var segment_max(const Var& x, const Tensor& offsets);
Var segment_min(const Var& x, const Tensor& offsets);

}  // namespace adj
