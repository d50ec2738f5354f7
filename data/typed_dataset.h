#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/graph/hetero_graph.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// Contents of an HDF5 file with several types of nodes or edges (data/README.md, version 2): for each type
/// its items, with features, labels, splits, times and names of their own.
struct TypedDataset {
  std::string name;  ///< as Dataset::name
  /// Edges by number in the file's order; weights as the attribute "weight", float32 [M], and the features of
  /// the edges' items as "attr", float32 [M, E].
  HeteroGraph graph;
  std::map<std::string, ItemTable, std::less<>> nodes;  ///< of every type of nodes
  std::map<EdgeType, ItemTable> edges;  ///< of every type of edges; `x` are their attributes, dense

  int64_t num_nodes(std::string_view type) const { return graph.num_nodes(type); }  ///< throws if unknown
  Device device() const { return graph.device(); }                                  ///< as Dataset::device()
  TypedDataset to(Device device) const;                                             ///< as Dataset::to()

  /// The graph of one type of edges between nodes of one type, with their items. Labels and splits are those
  /// of the nodes; if these have no task, classes or targets of the edges. Throws adj::Error for edges
  /// between different types.
  Dataset homogeneous(const EdgeType& type) const;
  /// The types of edges called `name`, or, as "person:knows:person", that type. Throws adj::Error listing the
  /// types if there is none, or more than one.
  EdgeType edge_type(std::string_view name) const;
};

/// "person:knows:person".
std::string text_of(const EdgeType& type);

/// Reads and checks a file of version 2, or of version 1 as one type of nodes, "node", with one type of
/// edges, "node:edge:node", to the CPU. `options`: features_in_file leaves those of all types of nodes in the
/// file; ranks are not for files of version 2. Throws DataError as load_dataset(), and for types without a
/// name, with the name of another, or of nodes that the file does not have.
TypedDataset load_typed_dataset(const std::string& path, const LoadOptions& options = {});

/// Whether the file is of version 2. False for what is no version or cannot be read: reading reports it.
bool is_typed_dataset(const std::string& path);

/// `opened`, `data` and `problems` are as in CheckedDataset.
struct CheckedTypedDataset {
  bool opened = false;
  TypedDataset data;
  std::vector<std::string> problems;
};
/// Checks a file of version 2 by the rules of load_typed_dataset(), as check_dataset().
CheckedTypedDataset check_typed_dataset(const std::string& path);

/// Writes version 2. Throws DataError for what load_typed_dataset() would refuse, adj::Error for features
/// left in a file and sparse attributes of edges.
void save_typed_dataset(const TypedDataset& dataset, const std::string& path, int gzip = 0);

}  // namespace adj
