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
  int64_t size() const { return ids_ ? ids_->size() : 0; }
  /// Adds those of the table.
  void read_ids();
  /// The number of an end of an edge, added if it is new; throws DataError if it is no id.
  int32_t add(std::string_view id, TextSource& source, int64_t line);
  /// The id of a node in a graph.
  static std::string joined(std::string_view graph, std::string_view id);
  /// For each row of the table its graph, added to `graphs` if it is new.
  std::vector<int32_t> read_graphs(NodeType& graphs);
  /// Features, labels, splits, times and ids; after all edges were read.
  ItemTable items(std::vector<std::string>& notes);

 private:
  NodeFiles node_files() const;
  void read_table(ItemTable& items, std::vector<std::string>& notes);

  NodeTableFile table_;
  const TableFiles& files_;
  bool joined_;
  std::unique_ptr<TableRows> rows_;  // absent: there is no table
  NodeColumns columns_;
  int64_t graph_ = -1;          // column
  std::optional<NodeIds> ids_;  // absent: not yet any
  int64_t listed_ = 0;          // in the table
};
using NodeTypes = std::map<std::string, NodeType, std::less<>>;

/// A table of edges.
class EdgeTable {
 public:
  /// Finds the columns and the types of nodes, which are added to `types` if no table has them.
  EdgeTable(const EdgeTableFile& table, const TableFiles& files, NodeTypes& types);

  const std::string& path() const { return table_.path; }
  void read_ends(NodeTypes& types);

  struct Part {
    EdgeType type;
    HeteroGraph::Edges edges;
    ItemTable items;
  };
  /// The edges by type; after all tables of edges were read.
  std::vector<Part> parts(const HeteroGraph::NodeCounts& counts, std::vector<std::string>& notes);

 private:
  /// Declared types of nodes that the column's name says.
  std::vector<std::string> types_named(int64_t column, const NodeTypes& types) const;
  void find_types(const NodeTypes& types);
  bool find_typed_columns(const NodeTypes& types);
  void find_relation(const EdgeColumns& without_choice);
  /// Features, labels, splits and times of all rows.
  ItemTable row_items(std::vector<std::string>& notes);
  Part part(const EdgeType& type, const std::vector<int32_t>& rows, const ItemTable& items,
            const HeteroGraph::NodeCounts& counts) const;
  /// Columns that are used.
  std::vector<int64_t> purposes() const;
  std::string note() const;

  EdgeTableFile table_;
  const TableFiles& files_;
  TableRows rows_;
  EdgeColumns columns_;
  int64_t relation_ = -1, graph_ = -1;
  EdgeType type_;
  std::vector<int32_t> src_, dst_;  // by row; -1: dropped
  std::vector<float> weights_;
  std::vector<int32_t> relations_;  // number in relation_names_ by row
  std::vector<std::string> relation_names_;
  int64_t dropped_ = 0;
};

}  // namespace adj
