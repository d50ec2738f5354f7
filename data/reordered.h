#pragma once

#include <adjoint/data/dataset.h>

namespace adj {

/// The same dataset with reordered nodes (graph/order/orders.h): node i of the result is node order[i] of
/// `data`, `order` int32 [N] a permutation that keeps each graph's nodes in place if there are several
/// graphs. Edges with weights and attributes, features, labels, ids and names, splits and the partition are
/// permuted too, on their device. The result's `order` maps back to the original nodes, however often they
/// are reordered; it is absent in the original order. Throws adj::Error otherwise.
Dataset reordered(const Dataset& data, const Tensor& order);

/// The dataset in its original node order, bit for bit; `data` itself if it is already.
Dataset original_order(const Dataset& data);

/// Restores rows [N, F] or [N] of a reordered dataset to the original node order, on the host: row order[i]
/// of the result is row i. `order` absent: unchanged. Throws adj::Error if the number of rows and the order's
/// length differ, or the order is not a permutation.
Tensor original_rows(const Tensor& rows, const Tensor& order);

}  // namespace adj
