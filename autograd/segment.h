// Pooling over ranges of rows, such as the nodes of each graph of a batch. A segment reduction is a product
// with a selection matrix whose rows are the segments; its gradient is a product with the transpose, which
// has one entry per row. The load balancing of sparse products covers long segments too.
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

namespace detail {

/// Throws unless `offsets` are int64 [G + 1], start at 0, ascend and end at `rows`. Contents are checked on
/// the CPU only: on a GPU that would need a synchronization.
void check_segments(const char* op, const Tensor& offsets, int64_t rows, Device device);

/// The row numbers 0, 1, …, rows - 1.
Tensor row_numbers(int64_t rows, Device device);

}  // namespace detail

/// y[G,F]: y_g = Σ of the rows offsets[g] … offsets[g + 1] of x[N,F]. `offsets` int64 [G + 1] from 0 to N,
/// ascending (contents checked on the CPU only), on x's device. Empty segments give 0. The summation order
/// depends on the offsets only.
Var segment_sum(const Var& x, const Tensor& offsets);

/// Mean over segments, same rules.
Var segment_mean(const Var& x, const Tensor& offsets);

/// The inverse broadcast: row i of y[rows,F] is the row of x[G,F] of i's segment. `offsets` as above, from 0
/// to `rows`. Its gradient is segment_sum.
Var segment_expand(const Var& x, const Tensor& offsets, int64_t rows);

/// Maximum or minimum per feature; ties, and the gradient, go to the first such row.
Var segment_max(const Var& x, const Tensor& offsets);
Var segment_min(const Var& x, const Tensor& offsets);  ///< the minimum, with the rules of segment_max()

}  // namespace adj
