#pragma once

#include <adjoint/data/import/column_transform.h>

namespace adj::detail {

/// Substitute for the missing numbers of a column. `values`: those that are there, in any order; one at
/// least, except for zero.
float imputed_value(Imputation imputation, std::vector<float> values);

/// The x at which the standard normal distribution is p, 0 < p < 1, to some 1e-15 of it (AS 241, Wichura
/// 1988).
double normal_quantile(double p);

}  // namespace adj::detail
