#pragma once

#include <adjoint/data/import/detail/table_rows.h>
#include <adjoint/data/import/typed_tables.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace adj {

/// Nodes of one type: their ids, and their table, if there is one.
class NodeType {
 public:
  /// Of a table, or of edges alone. `joined`: ids are those of a graph and of a node within it.
  NodeType(const NodeTableFile& table, const TableFiles& files, bool joined = false);

  /// By the user, not by edges alone.
  bool is_declared() const { return !table_.path.empty() || table_.ids; }
  bool has_table() const { return rows_ != nullptr; }
  /// The group of a Neo4j header, as in ":ID(Person)"; or empty.
  std::string group() const;
  /// The name of the column of graphs; or empty.
  std::string graph_name() const;
  int64_t size() const { return ids_ ? ids_->size() : 0; }
  const NodeIds& ids() const { return *ids_; }  ///< after those of a table or of edges were read
  std::string id(int64_t node) const { return ids_->text(static_cast<int32_t>(node)); }
  /// Tells the names of the columns that have its ids in tables of edges.
  void set_ends(std::vector<std::string> names);
  /// Whether names leave open which column has the ids (NodeColumns::possible_ids).
  bool has_open_id() const { return !joined_ && !columns_.possible_ids.empty(); }
  /// Then takes the column that has the ids of edges, names by id_key(), with a note.
  void choose_id(const NodeIds& ends, std::vector<std::string>& notes);
  /// Whether the first row has numbers, and may be a header or not.
  bool has_doubtful_head() const;
  /// Throws if it is a header and a node of edges, or neither.
  void expect_head(const NodeIds& ends) const;
  /// The text of an id, one of all the texts of an integer.
  static std::string id_key(std::string_view id);
  /// Adds those of the table.
  void read_ids();
  /// The number of an end of an edge, added if it is new; throws DataError if it is no id. Counts other
  /// spellings.
  int32_t add(std::string_view id, TextSource& source, int64_t line, IdSpellings& spellings);
  /// The id of a node in a graph, of the numbers 1 and 1.0 the same.
  std::string joined(std::string_view graph, std::string_view id) const;
  /// For each row of the table its graph, added to `graphs` if it is new.
  std::vector<int32_t> read_graphs(NodeType& graphs, std::vector<std::string>& notes);
  /// Whether it has a column of labels.
  bool is_labelled() const { return columns_.label >= 0; }
  /// Splits select these, "nodes" or "graphs", not the rows: columns of splits are passed over, with a note.
  /// Throws if the user chose one.
  void leave_splits(std::string_view items);
  /// Features, labels, splits, times and ids; after all edges were read.
  ItemTable items(std::vector<std::string>& notes);

 private:
  std::string_view item() const { return table_.of_graphs ? "graph" : "node"; }
  void find_columns();
  NodeFiles node_files() const;
  void read_table(ItemTable& items, std::vector<std::string>& notes);

  NodeTableFile table_;
  std::vector<std::string> ends_;  // set_ends()
  bool chosen_ids_ = false;        // the user says what they are
  const TableFiles& files_;
  Decimal decimal_;  // of ids
  bool joined_;
  std::string_view split_items_ = {};  // leave_splits()
  std::unique_ptr<TableRows> rows_;    // absent: there is no table
  NodeColumns columns_;
  int64_t graph_ = -1;          // column
  std::optional<NodeIds> ids_;  // absent: not yet any
  int64_t listed_ = 0;          // in the table
};
/// The group of a Neo4j header, as in ":START_ID(Person)"; or empty.
std::string neo4j_group(const std::string& name);

using NodeTypes = std::map<std::string, NodeType, std::less<>>;

}  // namespace adj
