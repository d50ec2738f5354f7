#pragma once

#include <adjoint/data/dataset.h>

#include <string>
#include <vector>

// Nodes of a dataset that a user chose by their names: nodes/name or nodes/id, or without both their numbers
// in the original order.

namespace adj {

/// The pairs of a text file, plain or gzip, as rows of `data`: one pair per line, with separators, quotes and
/// comments as for edge lists (import_edge_list). A first line that names no node is a header if its names
/// say which columns are source and target (edge_columns.h); without one these are the first two. Other
/// columns are passed over. Pairs may repeat, be edges, or join a node with itself.
///
/// `notes`: a line on the format. Throws DataError naming file and line: an unknown node, another number of
/// columns than in the first line, a file without pairs.
EdgeIndex read_pairs(const std::string& path, const Dataset& data, std::vector<std::string>* notes = nullptr);

/// Rows of `data`, int32 [K], in the order of `chosen`: a file of names, one per line (a line may be quoted),
/// or if there is no such file the names themselves, separated by commas. `of_graphs`: graphs, by their
/// numbers. Throws DataError naming file and line, or UsageError "--OPTION: …", for an unknown name and for
/// no names.
Tensor chosen_nodes(const std::string& option, const std::string& chosen, const Dataset& data,
                    bool of_graphs = false);

}  // namespace adj
