#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/core/random.h>
#include <adjoint/graph/ranks/rank_scope.h>

#include <cstdint>
#include <vector>

// What ops over all rows do in a RankScope. All ranks call these together.

namespace adj::detail {

/// The next key of a dropout. In a RankScope the masks of x [n, ...], this rank's rows, are those of one rank
/// for whole blocks of draws; of other shapes, such as a rank's edges, each rank has draws of its own.
RandomKey key_of_rows(Generator& generator, Shape x);

/// `count` of each rank.
std::vector<int64_t> counts_of_ranks(const RankRows& ranks, int64_t count);
/// [R, ...] of every rank's x.
Tensor stacked_over_ranks(const Group& group, const Tensor& x);
/// Replaces x by the sum over the ranks, in their order.
void sum_over_ranks(const Group& group, Tensor& x);

/// Of a loss, this rank's mean over terms that have the weight `total` together (scalars of one dtype): the
/// mean over the terms of all ranks. It alone outside of a RankScope. Throws Error on the CPU if `total` is 0
/// on all ranks, for which a GPU gives 0.
Var mean_over_ranks(const char* name, const Var& loss, const Tensor& total);

}  // namespace adj::detail
