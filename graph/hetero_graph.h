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

/// Name of a relation between two node types: author -writes-> paper.
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
  using NodeCounts = std::map<std::string, int64_t, std::less<>>;

  HeteroGraph() = default;
  /// Throws, naming the type, if a relation refers to unknown nodes or has another number of them, an
  /// attribute does not match, or devices differ.
  HeteroGraph(NodeCounts nodes, std::map<EdgeType, Edges> edges);

  explicit operator bool() const { return impl_ != nullptr; }
  /// In alphabetical order.
  std::vector<std::string> node_types() const;
  std::vector<EdgeType> edge_types() const;
  Device device() const;
  /// Throws, listing the existing types, for an unknown name.
  int64_t num_nodes(std::string_view type) const;
  int64_t num_nodes() const;
  int64_t num_edges() const;

  /// Throws, listing the existing types, for an unknown name; also for a relation name without node types
  /// that is ambiguous.
  const Relation& relation(const EdgeType& type) const;
  const Relation& relation(std::string_view name) const;
  const Tensor& edge_attr(const EdgeType& type, std::string_view name) const;
  const EdgeAttributes& edge_attributes(const EdgeType& type) const;
  /// The same graph with one attribute added or replaced.
  HeteroGraph with_edge_attr(const EdgeType& type, std::string name, Tensor attribute) const;

  HeteroGraph to(Device device) const;

 private:
  struct Impl;
  const Impl& impl() const;
  const Edges& edges_of(const EdgeType& type) const;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace adj
