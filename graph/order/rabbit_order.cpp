// Merges are sequential and lazy: a merged node's edges are gathered by its parent when the parent is
// processed, and until then lead to whatever their ends were merged into. Edges of a processed root are never
// read again, and are not kept.

#include <adjoint/graph/detail/neighborhoods.h>
#include <adjoint/graph/order/orders.h>

namespace adj {

namespace {

constexpr int32_t kNone = -1;

class Communities {
 public:
  explicit Communities(const detail::Neighborhoods& graph)
      : graph_(graph),
        parent_(size()),
        first_child_(size(), kNone),
        next_sibling_(size(), kNone),
        through_(size(), 0),
        strength_(size(), 0),
        community_edges_(size(), 0),
        links_(size()) {
    std::vector<int64_t> degrees(size());
    for (size_t i = 0; i < size(); ++i) {
      parent_[i] = static_cast<int32_t>(i);
      degrees[i] = graph.degree(static_cast<int64_t>(i));
      for (auto k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) strength_[i] += weight(k);
      total_ += static_cast<double>(strength_[i]);
    }
    for (const int32_t node : detail::nodes_by(degrees)) take_turn(node);
  }

  /// Depth-first: a node, then its merged nodes in merge order.
  std::vector<int32_t> order() const {
    std::vector<int32_t> order, waiting;
    order.reserve(size());
    for (size_t i = 0; i < size(); ++i) {
      if (parent_[i] != static_cast<int32_t>(i)) continue;
      waiting.push_back(static_cast<int32_t>(i));
      while (!waiting.empty()) {
        order.push_back(waiting.back());
        waiting.pop_back();
        for (int32_t c = first_child_[at(order.back())]; c != kNone; c = next_sibling_[at(c)])
          waiting.push_back(c);  // latest first, so that the earliest is on top
      }
    }
    return order;
  }

 private:
  /// A neighbouring community and the number of edges to it.
  struct Link {
    int32_t node;
    uint32_t edges;
  };

  static size_t at(int32_t node) { return static_cast<size_t>(node); }
  size_t size() const { return static_cast<size_t>(graph_.nodes()); }
  int64_t weight(int64_t k) const { return graph_.edges.empty() ? 1 : graph_.edges[static_cast<size_t>(k)]; }

  /// The current community of a node, with path halving.
  int32_t top_of(int32_t node) {
    while (parent_[at(node)] != node) node = parent_[at(node)] = parent_[at(parent_[at(node)])];
    return node;
  }

  void gather(int32_t node, int32_t end, int64_t edges) {
    const int32_t community = top_of(end);
    if (community == node) return;
    if (community_edges_[at(community)] == 0) reached_.push_back(community);
    community_edges_[at(community)] += edges;
  }

  void take_turn(int32_t node) {
    for (auto k = graph_.offsets[at(node)]; k < graph_.offsets[at(node) + 1]; ++k)
      gather(node, graph_.neighbors[static_cast<size_t>(k)], weight(k));
    for (int32_t c = first_child_[at(node)]; c != kNone; c = next_sibling_[at(c)]) {
      for (const Link& link : links_[at(c)]) gather(node, link.node, link.edges);
      links_[at(c)] = {};
    }
    // Modularity gain up to a factor: actual minus expected edges.
    int32_t best = kNone;
    double gain = 0.0;
    for (const int32_t other : reached_) {
      const double by_chance =
          static_cast<double>(strength_[at(node)]) * (static_cast<double>(strength_[at(other)]) / total_);
      const double more = static_cast<double>(community_edges_[at(other)]) - by_chance;
      if (more > gain || (more == gain && best != kNone && other < best)) {
        best = other;
        gain = more;
      }
    }
    if (best != kNone) merge(node, best);
    for (const int32_t other : reached_) community_edges_[at(other)] = 0;
    reached_.clear();
    through_[at(node)] = 1;
  }

  void merge(int32_t node, int32_t community) {
    parent_[at(node)] = community;
    strength_[at(community)] += strength_[at(node)];
    next_sibling_[at(node)] = first_child_[at(community)];
    first_child_[at(community)] = node;
    if (through_[at(community)] != 0) return;
    std::vector<Link>& links = links_[at(node)];
    links.reserve(reached_.size());
    for (const int32_t other : reached_)
      if (other != community) links.push_back({other, static_cast<uint32_t>(community_edges_[at(other)])});
  }

  const detail::Neighborhoods& graph_;
  std::vector<int32_t> parent_;  // parent; itself for a root
  std::vector<int32_t> first_child_, next_sibling_;
  std::vector<uint8_t> through_;
  std::vector<int64_t> strength_;         // edge ends within a community
  double total_ = 0.0;                    // sum over all
  std::vector<int64_t> community_edges_;  // edges from the current node, by community
  std::vector<int32_t> reached_;
  std::vector<std::vector<Link>> links_;  // of merged nodes, until gathered
};

}  // namespace

Tensor rabbit_order(const Relation& relation) {
  const detail::Neighborhoods graph = detail::neighborhoods("rabbit_order", relation, true);
  return Tensor::from(Communities(graph).order(), relation.device());
}

}  // namespace adj
