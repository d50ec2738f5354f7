#pragma once

#include <adjoint/data/dataset.h>

namespace adj {

/// The same dataset with its nodes in another order (graph/order/orders.h): node i of the result is node
/// order[i] of `data`, `order` int32 [N] a permutation that keeps each graph's nodes in its place where there
/// are many graphs in one. Edges with weights and attributes, features, labels, ids and names, splits and the
/// partition go along, on the device where they are. The result's `order` leads back to the nodes as they
/// stood at first, however often they are reordered; it is absent where they stand so again. Throws
/// adj::Error otherwise.
Dataset reordered(const Dataset& data, const Tensor& order);

/// The dataset with its nodes as they stood at first, to the bit; `data` itself where they do.
Dataset original_order(const Dataset& data);

/// The rows [N, F] or [N] of a reordered dataset's nodes as the nodes stood at first, on the host: row
/// order[i] of the result is row i. `order` absent: as they are. Throws adj::Error where there are not as
/// many rows as the order has nodes, or it is no permutation.
Tensor original_rows(const Tensor& rows, const Tensor& order);

}  // namespace adj
