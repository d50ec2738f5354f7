#pragma once

#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/relation.h>

#include <compare>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// Name of a relation between two node types, `src`, `name` and `dst`: author -writes-> paper.
struct EdgeType {
  std::string src;
  std::string name;
  std::string dst;
  auto operator<=>(const EdgeType&) const = default;
  /// "(author, writes, paper)".
  std::string str() const;
};

/// A heterogeneous graph: several node sets and the relations between them, by type. Immutable and a cheap
/// handle; relations cache derived data, as in Graph.
class HeteroGraph {
 public:
  /// Edges of one type; `attributes` by the relation's edge numbers.
  struct Edges {
    Relation relation;
    EdgeAttributes attributes = {};
  };
  using NodeCounts = std::map<std::string, int64_t, std::less<>>;  ///< by node type

  HeteroGraph() = default;
  /// Throws, naming the type, if a relation refers to unknown nodes or has another number of them, an
  /// attribute does not match, or devices differ.
  HeteroGraph(NodeCounts nodes, std::map<EdgeType, Edges> edges);

  explicit operator bool() const { return impl_ != nullptr; }  ///< false if default-constructed
  /// In alphabetical order.
  std::vector<std::string> node_types() const;
  std::vector<EdgeType> edge_types() const;  ///< ordered by source type, name and target type
  Device device() const;                     ///< of its relations; the CPU if there are none
  /// Throws, listing the existing types, for an unknown name.
  int64_t num_nodes(std::string_view type) const;
  int64_t num_nodes() const;
  int64_t num_edges() const;  ///< of all types together

  /// Throws, listing the existing types, for an unknown name; also for a relation name without node types
  /// that is ambiguous.
  const Relation& relation(const EdgeType& type) const;
  const Relation& relation(std::string_view name) const;
  /// [M] or [M,E] by the relation's edge numbers. Throws as above, also for an unknown attribute.
  const Tensor& edge_attr(const EdgeType& type, std::string_view name) const;
  const EdgeAttributes& edge_attributes(const EdgeType& type) const;  ///< of this type; may be empty
  /// The same graph with one attribute added or replaced.
  HeteroGraph with_edge_attr(const EdgeType& type, std::string name, Tensor attribute) const;

  HeteroGraph to(Device device) const;  ///< includes all that the relations have derived (Relation::to)

 private:
  struct Impl;
  const Impl& impl() const;
  const Edges& edges_of(const EdgeType& type) const;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace adj
