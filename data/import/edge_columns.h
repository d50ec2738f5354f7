#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// Columns that the user chose: a name of the header, or a number from 1. Empty: the names decide, or the
/// first two columns.
struct EdgeColumnNames {
  std::string source = {}, target = {};  ///< ids of nodes; both or neither
  std::string weight = {};               ///< "none": no weights, whatever the columns are called
  std::string label = {};                ///< of edge labels; empty: none, whatever the columns are called

  bool weighted() const { return !weight.empty() && weight != "none"; }  ///< a column is chosen
};

/// Columns of an edge list, from 0.
struct EdgeColumns {
  /// How source and target were found. `known`: names that are used for little else (source and target, head
  /// and tail, …); `alike`: names that differ in a 1 and 2, or in single letters; `rest`: two columns remain
  /// after those of other purposes; `chosen`: by the user; `first`: the first two; `none`: neither.
  enum class Rule : uint8_t { none, first, rest, alike, known, chosen };
  Rule rule = Rule::none;          ///< how source and target were found
  int64_t source = 0, target = 1;  ///< ids of nodes
  int64_t weight = -1;             ///< -1: none
  int64_t label = -1;              ///< -1: none
  int64_t relation = -1;           ///< column whose name says that edges are of several kinds; -1: none
  int64_t direction = -1;  ///< column "Type", whose fields may say that edges are directed, or not; -1: none
  int64_t other_weight = -1;  ///< another column called weight, beside `weight`; -1: none
  /// Columns of the types of the two ends: src_type beside src_id; both or neither. -1: none.
  int64_t source_type = -1, target_type = -1;
  /// True if the names of source and target differ in more than words for the two ends: user and item.
  bool unlike = false;
  /// True if the names say that sources and targets are different things: userId and movieId; or if there are
  /// columns of their types. Also for chosen columns.
  bool two_kinds = false;

  /// "edges from Source to Target; weights from Weight; passed over: Id, Type", with "column 3" for columns
  /// without a name. Empty for two columns, source and target in this order.
  std::string str(std::span<const std::string> names, int64_t columns) const;
  /// That the first two of more columns were taken, as there is no header and no choice; or empty. `dashes`
  /// precede options.
  std::string guess_note(int64_t columns, std::string_view dashes) const;
  /// Whether the first two of three columns were taken, but the second may say relations between the ids in
  /// the others, by the first rows of the file.
  bool may_be_triples(std::span<const std::string> first, std::span<const std::string> second) const;
};
/// "; column 2 looks like a relation, … (…)", or nothing, for columns that may_be_triples(): by the numbers
/// of `edges` and of their different targets, none of which is a source.
std::string relation_note(int64_t edges, int64_t targets, std::string_view choice);

/// Finds the columns by the names in a header. Throws DataError beginning with `place` ("FILE:LINE") for a
/// choice that names no column, or the same one twice.
EdgeColumns edge_columns(std::span<const std::string> names, const EdgeColumnNames& chosen,
                         const std::string& place);
/// The same without a header: a choice is a number.
EdgeColumns edge_columns(int64_t columns, const EdgeColumnNames& chosen, const std::string& place);

/// What the fields of a column "Type" say, as Gephi writes it.
struct EdgeDirections {
  int64_t directed = 0, undirected = 0;  ///< numbers of edges
  void count(std::string_view field);    ///< an edge, by the text of its direction
  /// Sums of both.
  void add(const EdgeDirections& others) {
    directed += others.directed;
    undirected += others.undirected;
  }
  bool all_undirected() const { return undirected > 0 && directed == 0; }  ///< and there are edges
  bool differ() const { return undirected > 0 && directed > 0; }           ///< there are edges of both kinds
};

/// Whether the first row of a file is a title above the header: it lacks a field, and the second row, not the
/// first, has the names of source and target.
bool is_title(std::span<const std::string> first, std::span<const std::string> second);

/// Whether the names are of source and target and say nothing else: "source" and "target", "src_id" and
/// "dst_id", beside any others. Lines of edges have no such ids.
bool names_ends_alone(std::span<const std::string> names);

/// Whether a column of nodes is called as what the end of an edge is: paper_id of citing_paper.
bool names_nodes_of(std::string_view end, std::string_view column);

/// Whether a field is a name that headers use: source, user_id, :START_ID(Person), label.
bool is_common_name(const std::string& field);

/// Throws DataError if two columns are called weight and none is chosen (`option`).
void expect_one_weight(const EdgeColumns& columns, std::span<const std::string> names,
                       const std::string& place, std::string_view option);

/// Whether one of the fields is a column that the user chose by name.
bool has_chosen_name(std::span<const std::string> fields, const EdgeColumnNames& chosen);

/// The words of a column's name in lower case: "startNode_ID" has start, node and id; ":START_ID(Person)"
/// start and id.
std::vector<std::string> words_in(std::string_view name);

}  // namespace adj
