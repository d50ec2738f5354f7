#pragma once

#include <adjoint/graph/graph.h>

#include <string>

namespace adj {

/// Identifies a graph by its edges, and by the order of its nodes if they were reordered (Dataset::order):
/// "120 nodes, 480 edges, contents 0123456789abcdef".
std::string graph_identity(const Graph& graph, const Tensor& order = {});

}  // namespace adj
