#pragma once

#include <adjoint/data/import/detail/missing_fields.h>
#include <adjoint/data/import/detail/node_type.h>
#include <adjoint/data/import/rounding.h>
#include <adjoint/data/import/thousands.h>

#include <string>
#include <vector>

namespace adj {

/// A table of edges.
class EdgeTable {
 public:
  /// Finds the columns and the types of nodes, which are added to `types` if no table has them.
  EdgeTable(const EdgeTableFile& table, const TableFiles& files, NodeTypes& types);

  const std::string& path() const { return table_.path; }
  /// Adds the ids of ends of a type of nodes to `ids`, names by NodeType::id_key().
  void add_ids(const std::string& type, NodeIds& ids);
  /// Names of the columns with ends of a type of nodes; none without a header.
  std::vector<std::string> ends_of(const std::string& type) const;
  void read_ends(NodeTypes& types);

  struct Part {
    EdgeType type;
    HeteroGraph::Edges edges;
    ItemTable items;
    int64_t merged = 0;      ///< edges that became part of an equal one
    std::string zeros = {};  ///< "; 2 of 9 merged weights are 0", or nothing
  };
  /// The edges by type; after all tables of edges were read.
  std::vector<Part> parts(const HeteroGraph::NodeCounts& counts, std::vector<std::string>& notes);
  /// What equal edges may have different ones of, so that they cannot be merged: "attributes"; or nothing.
  std::string_view distinction() const;

 private:
  /// Declared types of nodes that the column's name says.
  std::vector<std::string> types_named(int64_t column, const NodeTypes& types) const;
  void find_types(const NodeTypes& types);
  /// The type of nodes that an end has: 0 source, 1 target.
  std::string find_type(size_t end, const NodeTypes& types);
  /// What to expect where nodes of `end` may be of `type`, or of that of the other end.
  std::string type_choice(size_t end, const std::string& type, const std::string& other) const;
  [[noreturn]] void fail_doubtful(size_t end, std::string_view id, int64_t line);
  /// The type with the table of a Neo4j group, or the group itself if no table has one.
  std::string type_with(const std::string& group, int64_t column, const NodeTypes& types) const;
  /// The type that a field of a column of types names, added if it is new.
  const std::string& type_called(std::string_view field, NodeTypes& types) const;
  /// Notes which types of nodes have no table, beside tables; throws if rows name none of the tables'.
  void note_bare(const NodeTypes& types);
  /// Throws for targets that are lists of ids.
  void expect_single_ids(const NodeTypes& types) const;
  /// Throws if lines that repeat the header may be edges.
  void expect_one_header(const NodeTypes& types) const;
  bool has_kinds() const { return relation_ >= 0 || columns_.source_type >= 0; }
  bool find_typed_columns(const NodeTypes& types);
  void expect_ends_as_declared(const NodeTypes& types) const;
  /// Columns whose names say source and target the other way round than the type of edges.
  [[noreturn]] void fail_reversed(int64_t source, int64_t target) const;
  void find_relation(const EdgeColumns& without_choice);
  using KindRows = std::vector<std::vector<int32_t>>;
  /// The types of edges in the table.
  std::vector<EdgeType> kinds() const { return has_kinds() ? kinds_ : std::vector{type_}; }
  /// Numbers of rows by type, without the dropped ones.
  KindRows rows_by_kind() const;
  /// Features, labels, splits and times of all rows.
  ItemTable row_items(const KindRows& rows, const HeteroGraph::NodeCounts& counts,
                      std::vector<std::string>& notes);
  /// Splits of all rows: those of each type, together.
  std::vector<Split> draw_splits(const Tensor& labels, const KindRows& rows,
                                 const HeteroGraph::NodeCounts& counts) const;
  Part part(const EdgeType& type, const std::vector<int32_t>& rows, const ItemTable& items,
            const HeteroGraph::NodeCounts& counts) const;
  /// Columns that are used.
  std::vector<int64_t> purposes() const;
  std::string note() const;
  bool is_labelled() const;
  /// At random; else a column has them, or nothing.
  bool draws_splits() const { return files_.split && table_.split.empty() && is_labelled(); }

  EdgeTableFile table_;
  const bool chosen_ends_ = !table_.columns.source.empty();  // by the user
  const TableFiles& files_;
  TableRows rows_;
  EdgeColumns columns_;
  int64_t relation_ = -1, graph_ = -1;
  EdgeType type_;
  std::vector<int32_t> src_, dst_;  // by row; -1: dropped
  std::vector<float> weights_;
  std::vector<int32_t> kind_of_;   // number in kinds_ by row; empty: all are of type_
  std::vector<EdgeType> kinds_;    // by the columns of relations and of types of the ends
  bool doubtful_[2] = {};          // an end's type is the table's, though its column is called otherwise
  std::vector<std::string> bare_;  // types of nodes without a table, beside tables
  MissingFields without_id_;       // or type: dropped
  Rounding rounding_;              // of weights
  Thousands thousands_;            // the same
  EdgeDirections directions_;
  IdSpellings spellings_;                                         // of ends
  NodeIds relations_{NodeIds::Kind::names, files_.id_decimal()};  // names of types
};

}  // namespace adj
