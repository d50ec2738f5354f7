#pragma once

#include <adjoint/data/file_rows.h>
#include <adjoint/graph/features.h>
#include <adjoint/graph/graph.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

enum class Task : uint8_t {
  node_class,
  node_multilabel,
  node_regression,
  graph_class,
  graph_regression,
  none
};
std::string_view name_of(Task task);

/// Node indices, int32, ascending or not, distinct, and no node in two parts.
struct Split {
  Tensor train, val, test;
};

/// What an HDF5 file of the schema holds (data/README.md): a graph, features, labels and splits.
struct Dataset {
  std::string name;
  Task task = Task::none;
  bool undirected = false;  ///< as the file says; graph.is_symmetric() is found from the edges
  int64_t classes = 0;
  /// What classes are called, or the columns of y: one for each, distinct, UTF-8; or empty.
  std::vector<std::string> class_names;
  Graph graph;  ///< with what the file says of edges: weights, and [M, E] as the attribute "attr"
  Features x;   ///< [N, F], optional
  /// In the place of `x`: features that were left in the file (LoadOptions), wherever the rest is.
  FileRows x_in_file;
  Tensor y;  ///< int32 [N], -1: no label; or float32 [N, T] (multilabel, regression), nan: none; optional
  int64_t unlabelled = 0;  ///< nodes (or graphs, by the task) without any label; none of them is in a split
  std::vector<Split> splits;
  Tensor train, val, test;  ///< the split in use: splits[0] after loading, of no nodes where there is none
  Tensor graph_offsets;     ///< int64 [G + 1], many graphs in one file, optional
  Tensor graph_y;           ///< as y, one a graph
  Tensor part;   ///< int32 [N], 0 to N - 1: a partition of the nodes (graph/order/partition.h), optional
  Tensor order;  ///< int32 [N], of reordered nodes: node i is node order[i] of the dataset as it was at first
                 ///< (data/reordered.h); absent where they stand as they did
  /// What nodes are called where they come from, if not by their numbers: int64 [N] ids, optional; or names,
  /// uint8 of all of them one after another, and int64 [N + 1] where each begins and the last ends.
  Tensor node_ids;
  Tensor node_names, node_name_offsets;

  int64_t num_nodes() const { return graph.num_nodes(); }
  int64_t num_features() const { return x ? x.cols() : x_in_file.cols(); }
  /// Classes, or columns of y.
  int64_t num_classes() const;
  Device device() const { return graph.device(); }
  /// Sets train, val and test. Throws if there is no such split.
  void use_split(size_t k);
  Dataset to(Device device) const;
};

struct LoadOptions {
  /// nodes/x stays where it is, larger than memory as it may be: `x_in_file` in the place of `x`. It is read
  /// once, to know that all is finite, some megabytes at a time. Throws DataError where the features are
  /// sparse, or stored so that FileRows cannot read their rows.
  bool features_in_file = false;
};

/// Reads and checks a file of the schema, version 1, onto the CPU. Throws DataError naming file, place and
/// what was expected there: not HDF5, other format or newer version, missing or wrongly shaped or typed
/// datasets, an index out of range (with its position), not-finite features, a label out of range, an empty
/// split, an index repeated in or shared between parts of a split or without a label, a graph without nodes,
/// an edge from one graph to another, an order that is no permutation. Takes 1.1 times the memory of what it
/// returns, at most, when the file holds float32 and int32.
Dataset load_dataset(const std::string& path, const LoadOptions& options = {});
/// The same from memory, for embedded data; `name` stands for the path in messages.
Dataset load_dataset(std::span<const std::byte> image, const std::string& name);

/// What is in a file, as far as it can be read, and all that is wrong with it.
struct CheckedDataset {
  bool opened = false;  ///< by HDF5's library; else that is the only problem
  Dataset
      data;  ///< what load_dataset() gives where nothing is wrong; else without what something is wrong with
  /// Lines "FILE: PLACE: what was found, what was expected"; of one kind in one place the first three and
  /// their count, and 1000 lines at most, with the count of those beyond.
  std::vector<std::string> problems;
};
/// Reads a file by the rules of load_dataset(), but goes on where that throws, with whatever can still be
/// checked. `problems` is empty exactly where load_dataset(path) succeeds, and holds what that throws. Throws
/// OutOfMemory alone.
CheckedDataset check_dataset(const std::string& path);
/// Paths of what stands in a file beside the schema, which loading leaves alone, ascending. Throws DataError.
std::vector<std::string> beside_schema(const std::string& path);

/// What was put together in memory as load_dataset() gives it: `unlabelled` is counted, and splits[0] in use.
/// Throws DataError "NAME: PLACE: …" where load_dataset() would refuse a file of it, but for single values of
/// edges, which whoever made the graph has seen, and of features on a GPU.
Dataset complete_dataset(Dataset dataset);

/// Writes the schema, edges in the order of their numbers, compressed by `gzip` 1 to 9, or not at 0; the
/// file appears under its name only when it is complete. Throws DataError, of what load_dataset() would
/// refuse too; adj::Error for edge attributes
/// that the schema has no place for, and for features that are left in a file.
void save_dataset(const Dataset& dataset, const std::string& path, int gzip = 0);
/// One line by which a dataset is known again: name, counts, and a hash of what it holds (its task, edges
/// with weights and named attributes, features, labels, the split in use, graphs, partition, order), on any
/// device, features in memory or in their file: "cora, 2708 nodes, 10556 edges, 1433 features, 7 classes,
/// contents 1b0f…". Names of nodes and classes change nothing that is computed and are not in it. Reads
/// everything once; of features in a file some megabytes at a time.
std::string fingerprint(const Dataset& data);
/// The dataset that the library carries with it: `make demo` and every program without --data.
Dataset load_demo_dataset();

}  // namespace adj
