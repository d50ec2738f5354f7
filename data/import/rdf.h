#pragma once

#include <adjoint/core/choice.h>
#include <adjoint/data/dataset_splits.h>
#include <adjoint/data/typed_dataset.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace adj {

/// What becomes of literals: nodes of their own, or nothing, with the triples that have them.
enum class Literals : uint8_t { nodes, drop };
constexpr auto names_of(Literals) { return std::array{"nodes", "drop"}; }  ///< in options

/// What becomes of rows whose node the graph does not have.
enum class UnknownNodes : uint8_t { error, drop };
constexpr auto names_of(UnknownNodes) { return std::array{"error", "drop"}; }  ///< in options

/// Classes of nodes by name, in tables with a header: text with any separator, plain or gzip.
struct RdfLabels {
  std::string train = {}, val = {}, test = {};  ///< files; without `test` there is no split
  std::string node_column = {};   ///< a name or a number from 1; default: the only one with names of nodes
  std::string label_column = {};  ///< default: the only one whose name begins with "label"
  UnknownNodes unknown = UnknownNodes::error;  ///< what becomes of rows without a node
  /// Without `val`: the share of the nodes of `train` that validate; one draw for each split, as
  /// RandomSplits::seed, count and stratified.
  double val_share = 0.2;
  RandomSplits draws = {};  ///< their seed, number and stratification
  bool random = false;      ///< the splits are `draws` of all nodes with a label, instead
};

/// Options of import_rdf().
struct RdfOptions {
  Literals literals = Literals::nodes;         ///< what becomes of literals
  bool inverse = false;                        ///< a type "IRI^-1" with the reverse of the edges of each
  std::vector<std::string> drop_predicates{};  ///< IRIs whose triples are left out, as those that say labels
  std::string base = {};                       ///< of relative IRIs in Turtle
  RdfLabels labels = {};                       ///< of nodes; without `train` there are none
};

/// Imports RDF (W3C, 2014) as a graph of one type of nodes, "node", and a type of edges for each predicate:
/// N-Triples (.nt) and Turtle (.ttl), plain or gzip (.gz). Nodes are called as in N-Triples, IRIs without
/// brackets: `http://a.org/b`, `_:label`, `"text"@en`, `"5"^^<DATATYPE>`. Those of equal names are one node,
/// but a blank node is one of its file: labels of the second file begin with 2/. Types of edges have the IRIs
/// of predicates. A triple that several lines have is one edge. Takes the names, and some 80 bytes for each
/// node and 30 for each triple.
///
/// A predicate between labelled nodes and what is called as their labels is said by a warning.
///
/// Throws DataError naming file and line, and for builds without serd: what is no RDF, brackets nested
/// thousands deep, an unknown prefix, a relative IRI without a base, text that is not UTF-8; a file without
/// triples; a predicate to drop that no triple has; a column that a table does not have, or several of which
/// none is chosen; a node of a table that the graph does not have; a node with two labels, or in two parts;
/// an empty part.
TypedDataset import_rdf(const std::vector<std::string>& files, const RdfOptions& options,
                        std::vector<std::string>& notes);

}  // namespace adj
