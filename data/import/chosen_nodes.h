#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/import/table_head.h>

#include <string>
#include <vector>

// Nodes of a dataset that a user chose by their names: nodes/name or nodes/id, or without both their numbers
// in the original order. `file` is the dataset's, for messages.

namespace adj {

/// The pairs of a table, as rows of `data`: one pair per line of a text as for edge lists (import_edge_list).
/// A first line that names no node is a header if its names say which columns are source and target
/// (edge_columns.h), are of ids, or stand above numbers; then source and target are by names, else the two
/// columns with nodes in the second line. Without a header they are the first two. Other columns are passed
/// over. Pairs may repeat, be edges, or join a node with itself. `targets`: the dataset of the second nodes,
/// if these are of another type; their rows are of it.
///
/// `notes`: a line on the format. Throws DataError naming file and line: an unknown node, another number of
/// columns than in the first line, a file without pairs.
EdgeIndex read_pairs(const std::string& path, const Dataset& data, const std::string& file,
                     const TextFormat& format = {}, std::vector<std::string>* notes = nullptr,
                     const Dataset* targets = nullptr);

/// Rows of `data`, int32 [K], in the order of `chosen`: a file of names, one per line (a line may be quoted),
/// after a header such as node or id, if there is one, or a table of one column, or if there is no such file
/// the names themselves, separated by commas. `of_graphs`: graphs, by their numbers. Throws DataError naming
/// file and line, or UsageError "--OPTION: …", for an unknown name and for no names.
Tensor chosen_nodes(const std::string& option, const std::string& chosen, const Dataset& data,
                    const std::string& file, bool of_graphs = false, const TextFormat& format = {},
                    std::vector<std::string>* notes = nullptr);

}  // namespace adj
