#pragma once

#include <adjoint/data/dataset.h>

#include <string>

namespace adj {

/// One line by which a dataset is known again: name, counts, and a hash of what it holds (edges with weights
/// and attributes, features, labels, the split in use, graphs), whatever device it is on: "cora, 2708 nodes,
/// 10556 edges, 1433 features, 7 classes, contents 1b0f…". Reads everything once.
std::string fingerprint(const Dataset& data);

}  // namespace adj
