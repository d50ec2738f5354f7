#pragma once

#include <adjoint/graph/block.h>
#include <adjoint/graph/graph.h>
#include <adjoint/graph/hetero_graph.h>

#include <map>
#include <string>
#include <vector>

namespace adj {

/// The types of a heterogeneous graph by number: node i of type t is node offsets()[t] + i of the joint
/// graph, and edges of relation r have r as the attribute "type".
struct GraphSchema {
  /// A type of nodes.
  struct Nodes {
    std::string name;      ///< "author"
    int64_t count = 0;     ///< nodes of this type
    int64_t features = 0;  ///< columns of their features; 0: none
    bool operator==(const Nodes&) const = default;
  };
  std::vector<Nodes> nodes;         ///< the target types, which are predicted, first
  std::vector<EdgeType> relations;  ///< with reverse ones
  size_t targets = 1;               ///< types that are predicted: two for links between different types

  std::vector<int64_t> offsets() const;                       ///< [types + 1], of the counts
  int64_t num_targets() const { return offsets()[targets]; }  ///< nodes of the target types
  int64_t num_nodes() const { return offsets().back(); }      ///< of all types
  int64_t num_features() const;                               ///< columns of all types together
  bool operator==(const GraphSchema&) const = default;
};

/// The relations of a graph in its order, with `reverse` each followed by its reverse, (dst, "rev_NAME",
/// src), unless the graph has a relation of that type or (dst, "NAME^-1", src), or it is the same edges (a
/// symmetric relation), or is itself the reverse of another.
std::vector<EdgeType> relations_of(const HeteroGraph& graph, bool reverse);

/// The edges of a relation of the graph, or those of its reverse by name, reversed; on the CPU, by edge
/// number. Throws, naming the relations, for one that the graph has in neither direction.
EdgeIndex edges_of(const HeteroGraph& graph, const EdgeType& type);

/// Per type of nodes the number of node i among the schema's nodes of that type, int32 [nodes of the graph];
/// types that are absent keep their numbers.
using NodeNumbers = std::map<std::string, Tensor, std::less<>>;

/// One graph out of the schema's types, on the CPU: edges in the order of `relations`, each in its own order
/// (Graph::input_order()), with the int32 attribute "type" [M]; reverse ones that `graph` lacks are made of
/// those that it has. If a relation has weights (the attribute "weight", which a reverse one shares), all
/// have, of 1 where there are none; other attributes are left out. Throws, naming it and what there is, for a
/// type that the graph lacks, a relation between types that the schema lacks, and more nodes than the schema
/// has.
Graph join(const HeteroGraph& graph, const GraphSchema& schema, const NodeNumbers& numbers = {});

/// What join() leaves out: "time of (a, b, c)" per attribute, and types of nodes and edges that are not in
/// the schema.
std::vector<std::string> left_out(const HeteroGraph& graph, const GraphSchema& schema);

/// Whether one type is the reverse of the other by its name, "rev_NAME" or "NAME^-1".
bool are_reverses(const EdgeType& a, const EdgeType& b);

/// The pairs of nodes of a joint graph that one relation may join: those of predicted links.
struct JointPairs {
  /// Numbers of that relation, first, and of those with the same edges in either direction.
  std::vector<int32_t> relations;
  int64_t num_relations = 0;           ///< of the joint graph
  int64_t src_begin = 0, src_end = 0;  ///< nodes of the source type
  int64_t dst_begin = 0, dst_end = 0;  ///< nodes of the target type

  bool within_type() const { return src_begin == dst_begin; }  ///< sources and targets are the same nodes
};
/// The pairs of relation `type`; `same`: other relations that have its edges, besides its reverse. Throws for
/// a relation that the schema lacks.
JointPairs pairs_of(const GraphSchema& schema, const EdgeType& type, const std::vector<EdgeType>& same = {});

/// The edges into the first `count` nodes of a whole graph, as a block of all nodes; made once per graph.
const Block& edges_into_first(const Graph& graph, int64_t count);

}  // namespace adj
