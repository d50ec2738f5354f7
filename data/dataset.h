#pragma once

#include <adjoint/core/group.h>
#include <adjoint/data/item_table.h>
#include <adjoint/graph/graph.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// Contents of an HDF5 file of the schema (data/README.md): a graph, features, labels and splits.
struct Dataset : ItemTable {
  std::string name;         ///< as the file says, else its name without folder and extension
  bool undirected = false;  ///< as stated in the file; graph.is_symmetric() is computed from the edges
  Graph graph;  ///< with weights; float32 [M, E] edge features as the attribute "attr", and int64 [M]
                ///< times, as of nodes, as "time"
  /// As feature_names and encoder, of the edges' "attr".
  std::vector<std::string> attr_names;
  FeatureEncoder attr_encoder;           ///< how columns of a table became those of "attr"; or empty
  Tensor graph_offsets;                  ///< int64 [G + 1] for a file with many graphs, optional
  std::vector<std::string> graph_names;  ///< distinct, UTF-8; or empty
  Tensor graph_y;                        ///< as y, per graph
  Tensor edge_y;                         ///< as y, by edge number: no input of any model
  Tensor part;   ///< int32 [N], 0 to N - 1: a node partition (graph/order/partition.h), optional
  Tensor order;  ///< int32 [N] for reordered nodes: node i is node order[i] of the original dataset
                 ///< (data/reordered.h); absent in the original order
  /// For fingerprint(), if `graph` was read by LoadOptions::ranks: of the edges of all.
  std::optional<uint64_t> edges_hash;

  int64_t num_nodes() const { return graph.num_nodes(); }  ///< N, of all graphs together
  /// Number of classes, or of columns of y.
  int64_t num_classes() const;
  Device device() const { return graph.device(); }  ///< of the graph, and after to() of all tensors
  /// Labels of the task's nodes, graphs or edges.
  const Tensor& labels() const { return is_of_graphs(task) ? graph_y : is_of_edges(task) ? edge_y : y; }
  Tensor& labels() { return is_of_graphs(task) ? graph_y : is_of_edges(task) ? edge_y : y; }
  /// Sets train, val and test. Throws if split k does not exist.
  void use_split(size_t k);
  /// The first split; without splits empty selections, since without indices a loss uses all rows.
  void use_first_split();
  Dataset to(Device device) const;  ///< shares what is on `device` already; x_in_file stays in the file
};

/// Options of load_dataset().
struct LoadOptions {
  /// Leaves nodes/x, which may be larger than memory, in the file: sets `x_in_file` instead of `x`. It is
  /// read once, some megabytes at a time, to check that all values are finite. Throws DataError if the
  /// features are sparse, or stored so that FileRows cannot read single rows.
  bool features_in_file = false;
  /// Several ranks, which load together: `graph` has only the edges of this rank's nodes
  /// (Graph::from_rank_edges), as RowCut cuts those of the file. The list is read twice, some megabytes at a
  /// time, and offsets of 24 bytes a node stay besides. Throws DataError, also if the ranks' edges differ.
  /// Labels of edges are by the whole graph: with these each rank has all of it, and says so.
  std::optional<Group> ranks = std::nullopt;
};

/// Reads and checks a file of the schema, version 1, to the CPU. Throws DataError naming file, place and what
/// was expected there: not HDF5, another format or a newer version, missing datasets or wrong shapes or
/// types, an index out of range (with its position), non-finite features, a label out of range, an empty
/// split, an index that is repeated in or shared between parts of a split or unlabelled, a graph without
/// nodes, an edge between graphs, an order that is not a permutation. Peak memory is at most 1.1 times the
/// result for files with float32 and int32.
Dataset load_dataset(const std::string& path, const LoadOptions& options = {});
/// Same from memory, for embedded data; `name` replaces the path in messages.
Dataset load_dataset(std::span<const std::byte> image, const std::string& name,
                     const LoadOptions& options = {});

/// The readable contents of a file, and all its problems.
struct CheckedDataset {
  bool opened = false;  ///< HDF5 could open the file; if false, that is the only problem
  Dataset data;         ///< the result of load_dataset() for a valid file; else without the invalid parts
  /// Lines "FILE: PLACE: what was found, what was expected"; per kind and place the first three and their
  /// count, and at most 1000 lines plus the count of the rest.
  std::vector<std::string> problems;
};
/// Checks a file by the rules of load_dataset(), but continues after errors with all that can still be
/// checked. `problems` is empty exactly if load_dataset(path) succeeds, and includes the error that it
/// throws. Throws OutOfMemory only.
CheckedDataset check_dataset(const std::string& path);
/// Paths in a file outside of the schema, which loading ignores, ascending. Throws DataError.
std::vector<std::string> beside_schema(const std::string& path);

/// Throws DataError "NAME: PLACE: …" unless load_dataset() would accept so many nodes and edges with the
/// features, labels and lists of nodes in `dataset`: to be called before a graph takes memory for them.
void check_num_nodes(const Dataset& dataset, int64_t nodes, int64_t edges);
/// Completes a dataset that was assembled in memory: counts `unlabelled`, and takes splits[0] into use.
/// Throws DataError "NAME: PLACE: …" for what load_dataset() would refuse.
Dataset complete_dataset(Dataset dataset);

/// Writes the schema, edges in the order of Graph::input_order(), with gzip level 1 to 9, or 0 for none; the
/// file appears under its name only when complete. Throws DataError also for what load_dataset() would
/// refuse; adj::Error for edge attributes that the schema does not support, and for features left in a file.
void save_dataset(const Dataset& dataset, const std::string& path, int gzip = 0);
/// One line that identifies a dataset: name, counts, and a content hash (task, edges with weights and named
/// attributes, features, labels, current split, graphs, partition, order), the same on any device, with
/// features in memory or in their file: "cora, 2708 nodes, 10556 edges, 1433 features, 7 classes, contents
/// 1b0f…". Node and class names do not affect results and are not included. Reads everything once; features
/// in a file some megabytes at a time.
std::string fingerprint(const Dataset& data);
/// The dataset embedded in the library: `make demo` and every program without --data.
Dataset load_demo_dataset(const LoadOptions& options = {});

}  // namespace adj
