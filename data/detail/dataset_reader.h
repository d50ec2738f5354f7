#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/detail/dataset_values.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/data/detail/names.h>

#include <optional>

namespace adj::detail {

/// The objects of the schema's versions 1 and 2; the rest of a file is not read.
extern const H5Reader::Wanted kSchema, kTypedSchema;

/// Throws DataError or records a problem unless the file is of the format; its version, or 0.
int64_t read_version(const H5Reader& file, Problems& problems);
/// Its name, else that of the file.
std::string read_dataset_name(const H5Reader& file);

/// Takes labels and splits of edges from the order of the list that the graph was made from to edge numbers.
void number_edges(Dataset& data);

/// State of fingerprint() after the edges of all ranks, of which `data` has one's. All ranks call it
/// together.
uint64_t hash_rank_edges(const Dataset& data);

/// Reads a file of the schema in parts: header, graphs and edges (data/dataset_graph.cpp), then what nodes,
/// edges or graphs have (data/dataset_items.cpp). A part throws at the first problem; or, with a list for
/// problems, records it and continues with what is valid in the earlier parts.
class DatasetReader {
 public:
  explicit DatasetReader(const H5Reader& file, std::vector<std::string>* problems = nullptr,
                         const LoadOptions& options = {})
      : file_(file), options_(options), problems_(file, problems), values_(file, problems_) {}

  /// The dataset; if problems are collected, without the invalid parts.
  Dataset read();
  /// The items of one type, for a reader of ItemPaths: nodes, as many as the group says, in a file of
  /// `edges` edges; or `count` edges.
  ItemTable read_nodes_alone(int64_t edges);
  ItemTable read_edges_alone(int64_t count);
  /// Number of nodes, after read_nodes_alone(); absent if the file does not state it.
  std::optional<int64_t> num_nodes() const { return nodes_; }
  /// Its names of columns and encoder alone.
  Dataset read_encoders();

 private:
  void read_header();
  ItemTable read_items(int64_t edges);
  /// All that belongs to the items, after their number is known.
  void read_contents();
  /// Removes what has a problem, but was needed to find others.
  void remove_invalid();
  void read_task();
  void read_num_nodes();
  void read_classes();
  /// `edges`: those of the file.
  void check_nodes(int64_t edges);
  int64_t count_edges();

  void read_graphs();
  void read_edges();
  void read_edge_names(int64_t columns);
  /// `first`: position of the first of these edges in the list.
  void check_graphs_apart(const Tensor& src, const Tensor& dst, int64_t first = 0);
  /// Those of one rank's nodes (data/dataset_rank_edges.cpp).
  bool reads_rank_edges() const;
  void read_rank_edges(const Group& group);
  Tensor read_degrees(const std::string& path, int64_t edges) const;

  void read_features();
  void leave_features(bool sparse);
  void read_sparse_features();

  void read_labels();
  void read_class_names();
  void read_feature_names();
  void read_encoder();
  /// `count` names (kAny: any number) at `path`, of a `thing` each; empty if there are none, or for a
  /// problem.
  std::vector<std::string> names_at(const std::string& path, int64_t count, std::string_view thing);
  /// The encoder at `path`, of so many features (kAny: any number) of these names; empty if there is none.
  FeatureEncoder encoder_at(const std::string& path, int64_t features, const std::vector<std::string>& names);
  void check_classes(const Tensor& y);
  Tensor read_labels_of(const std::string& path, std::optional<int64_t> rows, Task task);

  void read_nodes();
  void read_names();
  void read_times();
  void check_order(const Tensor& order);

  void read_splits();
  Split read_split(const std::string& group);
  Tensor read_part(const std::string& group, size_t part, std::vector<uint8_t>& part_of);

  /// Number of items with labels and splits (nodes, graphs or edges); absent if unknown.
  std::optional<int64_t> members() const {
    return problems_.in("attribute task") ? std::nullopt
           : of_graphs()                  ? graphs_
           : of_edges()                   ? num_edges_
                                          : nodes_;
  }
  bool of_graphs() const { return is_of_graphs(data_.task); }
  bool of_edges() const { return is_of_edges(data_.task); }
  /// The task that labels at `path` are for; none if another's are wanted.
  Task task_of(std::string_view path) const {
    return path == labels_path(data_.task) ? data_.task : Task::none;
  }
  /// The expected extent of a dataset, `more` than the rows; any if it is unknown or already reported as
  /// wrong.
  int64_t extent(std::string_view path, std::optional<int64_t> rows, int64_t more = 0) const {
    return !rows || problems_.in(path) ? kAny : *rows + more;
  }
  bool sound(std::initializer_list<std::string_view> places) const {
    for (std::string_view place : places)
      if (problems_.in(place)) return false;
    return true;
  }

  const H5Reader& file_;
  const LoadOptions options_;
  Problems problems_;
  FileValues values_;
  std::optional<int64_t> nodes_, graphs_,
      num_edges_;                       // absent if the file does not state it, or states too much
  bool typed_ = false, edges_ = false;  // of one type of several; its items are edges
  Dataset data_;
};

}  // namespace adj::detail
