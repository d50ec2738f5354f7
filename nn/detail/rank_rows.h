#pragma once

#include <adjoint/autograd/grouped_linear.h>
#include <adjoint/graph/typed_edges.h>

#include <cstdint>

// Maps of a rank's rows, whose gradients are sums by parts where the RankScope says so; else the usual ones.

namespace adj::nn::detail {

/// x W + b of a row for each of the rank's nodes; W [in, out], b [out] or absent.
Var rank_linear(const Var& x, const Var& weight, const Var& bias = {});
/// The same of x's rows alone, those of the rank's nodes [first, first + n) by their place among its own;
/// `all`: their number on all ranks.
Var rank_linear(const Var& x, const Var& weight, const Var& bias, int64_t first, int64_t all);
/// y + b; y itself if b is absent.
Var rank_bias(const Var& y, const Var& bias);
/// groups_of() of the rank's nodes by type, `types` int32 of all of them.
RowGroups rank_groups(const TypedRows& rows, const Tensor& types);

}  // namespace adj::nn::detail
