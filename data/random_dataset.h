#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/graph/generators.h>

namespace adj {

/// A dataset to measure speed and memory with, in which there is nothing to learn: dense normal features [N,
/// features], uniform classes, and a random split into 60, 20 and 20 % of the nodes. Throws adj::Error for
/// fewer than 5 nodes.
Dataset make_random_dataset(const EdgeList& edges, int64_t features, int64_t classes, uint64_t seed);

}  // namespace adj
