#pragma once

#include <adjoint/data/interactions.h>
#include <adjoint/nn/metrics/top_k_metrics.h>

#include <functional>
#include <span>
#include <vector>

namespace adj::training {

/// The best items of some users, best first, on the CPU.
struct TopItems {
  Tensor items;   ///< int32 [Q,k]; -1 behind the last, if a user has fewer that are not left out
  Tensor scores;  ///< float32 [Q,k], the dot products
};

/// For each of `users` the k items with the highest scores among those that `known` does not have, of equal
/// ones those with lower numbers first. `vectors` [users + items, D]: a model's results, on its device. Calls
/// visit(first, lists) for chunks of users in order, which bound the memory of scores: no matrix of users and
/// items is kept.
void top_items(const Tensor& vectors, std::span<const int32_t> users, const UserItems& known, int64_t k,
               const std::function<void(int64_t first, const TopItems& lists)>& visit);

/// Metrics of the users in `wanted` with items to be found. Interactions in `known` are left out of the
/// lists. `popularity` as of nn::TopKSums.
nn::TopKMetrics top_k_metrics(const Tensor& vectors, const UserItems& wanted, const UserItems& known,
                              int64_t k, const std::vector<int32_t>& popularity);

}  // namespace adj::training
