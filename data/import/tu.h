#pragma once

#include <adjoint/data/dataset.h>

#include <string>

namespace adj {

/// What import_tu() makes of a folder. The defaults are those of PyG's TUDataset.
struct TuOptions {
  bool node_attributes = false;  ///< as features, before the node labels' columns
  bool edge_attributes = false;  ///< as columns of the edge attribute "attr", before the edge labels'
  bool keep_edges = false;       ///< loops and parallel edges too
};

/// A dataset of the TU collection (Morris et al. 2020), from the folder of NAME_A.txt, as PyG's
/// `read_tu_data` understands it. Lines of M edges, N nodes, G graphs; ids count from 1:
///
/// | NAME_… | a line |
/// | --- | --- |
/// | A.txt | an edge: source, target |
/// | graph_indicator.txt | the graph of a node |
/// | graph_labels.txt | the class of a graph: the values in use, ascending, become 0 … C - 1 |
/// | graph_attributes.txt | targets of a graph, instead of a class |
/// | node_labels.txt, edge_labels.txt | integers in one or several columns, each of which becomes as many
/// columns of 0 and 1 as it has values from its smallest to its largest |
/// | node_attributes.txt, edge_attributes.txt | numbers |
///
/// The first two and one of the next two must be there. Loops are removed and parallel edges merged, their
/// attributes added. Nodes whose graphs do not stand one behind the other are sorted by graph, in their order
/// within it. Features of more than 1024 columns become sparse.
///
/// Throws DataError naming file and line: a folder of none or several such datasets, a file that is missing,
/// empty, or of other length than the others say, a row of other width, what is no number or not finite, a
/// node or graph out of range, a graph without nodes, an edge between graphs, too many label columns.
Dataset import_tu(const std::string& folder, const TuOptions& options = {});

}  // namespace adj
