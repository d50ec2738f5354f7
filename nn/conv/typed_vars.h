#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/hetero_graph.h>

#include <map>
#include <string>
#include <string_view>

namespace adj::nn {

/// A variable by type of node: features [N_t, F_t], or what a layer makes of them.
using TypedVars = std::map<std::string, Var, std::less<>>;
/// Numbers of features by type of node, as the schema of a dataset has them.
using TypedWidths = std::map<std::string, int64_t, std::less<>>;

namespace detail {

/// The name of a type as part of a parameter's name: letters, digits, '-' and '_' stay, other bytes become
/// %XX; and those of an edge type, "author~writes~paper". Different types have different names.
std::string module_name(std::string_view type);
std::string module_name(const EdgeType& type);

/// The width of a type. Throws Error, naming `layer` and listing the types, if there is none.
int64_t width_of(const char* layer, const TypedWidths& widths, const std::string& type);
/// The features of a type of a graph's nodes; [0, width] if x lacks it and the graph has no such node. Throws
/// Error, naming `layer` and the type, for another shape.
Var features_of(const char* layer, const HeteroGraph& graph, const TypedVars& x, const std::string& type,
                int64_t width, DType dtype);

}  // namespace detail

}  // namespace adj::nn
