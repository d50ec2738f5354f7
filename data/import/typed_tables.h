#pragma once

#include <adjoint/data/import/edge_list.h>
#include <adjoint/data/typed_dataset.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// What nodes and edges of a table have in common: columns are names of the header, or numbers from 1.
struct ItemColumns {
  std::string path = {};   ///< empty, for nodes: there is no table, the edges name them
  std::string label = {};  ///< "none": no label, whatever the columns are called
  /// Kind of labels: node_class, node_multilabel and node_regression, also of edges.
  Task task = Task::node_class;
  std::optional<std::vector<std::string>> missing_labels = {};  ///< as NodeFiles
  std::vector<std::string> features = {};                       ///< of edges: attributes; "all"
  std::vector<std::string> without = {};                        ///< of nodes: no features
  std::vector<ColumnChoice> types = {};                         ///< as NodeFiles
  std::optional<Imputation> impute = {};                        ///< as NodeFiles
  std::string split = {};                                       ///< train, val or test
  std::string time = {};                                        ///< integers or dates
  std::string graph = {};             ///< for tables of many graphs: id of the graph
  std::optional<LikeFile> like = {};  ///< as NodeFiles
  TextFormat text = {};               ///< of this table; what is absent is as in TableFiles
  std::optional<Header> header = {};  ///< the same
};

/// Table of the nodes of one type.
struct NodeTableFile : ItemColumns {
  std::string type;
  std::string id = {};  ///< default as node_columns()
  /// Default: integers if all ids of the table are, or the first one of the edges without a table.
  std::optional<NodeIds::Kind> ids = {};
  bool of_graphs = false;  ///< of TableFiles::graphs, for messages
};

/// Table of edges of one type, or, with a column of relations, of several.
struct EdgeTableFile : ItemColumns {
  /// Empty: found by the names of columns, and the file's name.
  EdgeType type = {};
  EdgeColumnNames columns = {};  ///< source, target and weight only
  /// Column whose texts are names of types of edges; default: by its name (relation, predicate, :TYPE); none:
  /// there is none.
  std::string relation = {};
  MissingIds missing_ids = MissingIds::fail;  ///< also of missing relations
  /// Adds the reverse of every edge that is no loop: of the same type between nodes of one type, else of the
  /// type rev_NAME (Fey & Lenssen, PyG's ToUndirected). Labels, splits and times stay with the original;
  /// a random split has all edges between two nodes of one type in one part.
  bool undirected = false;
  /// Merges equal edges of a type, after `undirected`, by source and target, adding their weights. Such edges
  /// have no attributes, labels, splits or times, which may differ.
  bool coalesce = false;
};

/// The name of a table by its path: of a file before the first dot, of a table in an SQLite file the table's.
std::string table_name(const std::string& path);

/// Tables of a typed dataset.
struct TableFiles {
  std::string name = {};                  ///< TypedDataset::name
  std::vector<NodeTableFile> nodes = {};  ///< one a type at most
  std::vector<EdgeTableFile> edges = {};  ///< each of types that no other has
  /// Of many graphs, whose nodes and edges have ItemColumns::graph: labels and splits by graph.
  std::optional<NodeTableFile> graphs = {};
  TextFormat text = {};                    ///< of all of them
  Header header = Header::find_out;        ///< of all of them
  std::optional<RandomSplits> split = {};  ///< of all types with labels that have no column of splits

  /// All paths.
  std::vector<std::string> paths() const;
  /// The decimal mark of ids, which several tables have: a comma if it is that of any table.
  Decimal id_decimal() const;
};

/// Sets an entry of a table by its name on the command line and in a description: "id", "label", "columns",
/// …. Lists grow by the values. False if there is none of that name. Throws DataError beginning with `place`
/// for a value that it cannot have.
bool set_entry(NodeTableFile& table, std::string_view name, const std::vector<std::string>& values,
               const std::string& place);
bool set_entry(EdgeTableFile& table, std::string_view name, const std::vector<std::string>& values,
               const std::string& place);
/// The same for a table of graphs, whose tasks are graph_class and graph_regression.
bool set_graph_entry(NodeTableFile& table, std::string_view name, const std::vector<std::string>& values,
                     const std::string& place);
/// The names that set_entry() knows.
std::vector<std::string> node_entries();
std::vector<std::string> edge_entries();  ///< for an EdgeTableFile

/// Reads a description in YAML, whose paths are relative to its folder (docs/tables.md):
///
///     nodes:
///       person: {file: people.csv, id: name, label: group, without: [phone], impute: mean}
///       film: films.csv
///     edges:
///     - {file: ratings.csv, type: [person, rated, film], weight: stars, attributes: [device], time: when}
///     - {file: friends.csv, type: [person, knows, person], undirected: true}
///
/// Throws DataError naming file and line: what is not YAML, an entry that does not exist, with those that do.
TableFiles read_table_description(const std::string& path);

/// Reads tables, plain or gzip, with separators, quotes and comments as import_edge_list(). Nodes are those
/// of their table, in its order, then those that only edges name, which need `impute` if there is a table.
/// Ends of edges are found as in edge lists; types of nodes that edges do not say are found by columns of
/// types (src_type beside src_id), by a Neo4j header (":START_ID(Person)" means the table with
/// ":ID(Person)"), by the names of columns (user_id is an id of "user" or "users"), or are the only type
/// there is. Where ids may be of two kinds or of one, the types of edges must say it. `notes`: lines about
/// all that was found, and what was passed over. Throws DataError naming file and line.
TypedDataset import_tables(const TableFiles& files, std::vector<std::string>& notes);

/// The same for many graphs of one type of nodes and edges: `graphs`, or ItemColumns::graph, is set. Ids of
/// nodes are unique within their graph if the edges have a column of graphs too, else within the table.
/// Graphs are numbered as in their table, else by first appearance. Nodes without an edge need a row.
Dataset import_graph_tables(const TableFiles& files, std::vector<std::string>& notes);

}  // namespace adj
