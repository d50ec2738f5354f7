#pragma once

#include <adjoint/data/typed_dataset.h>
#include <adjoint/graph/joint_graph.h>

#include <string>

namespace adj {

/// The items of one type of nodes as a dataset without edges.
Dataset nodes_alone(const TypedDataset& dataset, const std::string& type);

/// A dataset of one graph as one of the types "node" and "node:edge:node".
TypedDataset with_types(const Dataset& dataset);

/// The type of nodes with labels, or `wanted`. Throws DataError, naming `file` and the types, if there is
/// none, or several and none is wanted; UsageError if the wanted one has none.
std::string target_type(const TypedDataset& dataset, const std::string& wanted, const std::string& file);

/// The schema of a dataset whose nodes of the types `targets` come first, the others in alphabetical order,
/// with its relations (relations_of()).
GraphSchema schema_of(const TypedDataset& dataset, const std::vector<std::string>& targets, bool reverse);
/// Nodes of several types as one dataset without edges, in that order, named "TYPE:NAME".
Dataset named_by_types(const TypedDataset& dataset, const std::vector<std::string>& types);

/// The joint graph of a dataset (join()) on the CPU, with the features of its types (Features::typed();
/// sparse ones are made dense; those left in a file stay there, x_in_files) and, of the first type, labels,
/// splits, names and ids: its nodes have the same numbers here, and all others are unlabelled. With `numbers`
/// of the first type it has graph and features only.
Dataset joint_dataset(const TypedDataset& dataset, const GraphSchema& schema,
                      const NodeNumbers& numbers = {});

}  // namespace adj
