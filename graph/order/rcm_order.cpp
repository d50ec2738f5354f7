#include <adjoint/graph/detail/neighborhoods.h>
#include <adjoint/graph/order/orders.h>

#include <algorithm>
#include <utility>

namespace adj {

namespace {

using detail::Neighborhoods;

/// Breadth-first searches over one graph.
class Levels {
 public:
  explicit Levels(const Neighborhoods& graph) : graph_(graph), seen_(static_cast<size_t>(graph.nodes()), 0) {}

  /// A pseudo-peripheral node: repeatedly the node of smallest degree in the last level, until the depth
  /// stops growing (George & Liu 1979).
  int32_t far_from(int32_t start) {
    int64_t depth = walk(start);
    for (;;) {
      const int32_t next = *std::min_element(queue_.begin() + last_level_, queue_.end(),
                                             [&](int32_t a, int32_t b) { return less(a, b); });
      const int64_t deeper = walk(next);
      if (deeper <= depth) return next;
      depth = deeper;
    }
  }

  /// Appends the component of `start` to `order`, each node's new neighbours by degree, and marks it as done.
  void append(int32_t start, std::vector<int32_t>& order) {
    size_t next = order.size();
    order.push_back(start);
    done(start);
    while (next < order.size()) {
      const auto first = std::ssize(order);
      for (const int32_t j : graph_.neighbors_of(order[next++])) {
        if (is_done(j)) continue;
        done(j);
        order.push_back(j);
      }
      std::sort(order.begin() + first, order.end(), [&](int32_t a, int32_t b) { return less(a, b); });
    }
  }

  bool is_done(int32_t i) const { return seen_[static_cast<size_t>(i)] != 0; }

 private:
  void done(int32_t i) { seen_[static_cast<size_t>(i)] = 1; }
  bool less(int32_t a, int32_t b) const {
    return std::pair(graph_.degree(a), a) < std::pair(graph_.degree(b), b);
  }

  /// Leaves the component in queue_, the last level starting at last_level_; returns the number of levels.
  /// The whole component is unmarked before and after.
  int64_t walk(int32_t start) {
    queue_.assign(1, start);
    done(start);
    last_level_ = 0;
    int64_t levels = 1;
    for (auto end = std::ssize(queue_);; end = std::ssize(queue_), ++levels) {
      for (auto k = last_level_; k < end; ++k)
        for (const int32_t j : graph_.neighbors_of(queue_[static_cast<size_t>(k)])) {
          if (is_done(j)) continue;
          done(j);
          queue_.push_back(j);
        }
      if (std::ssize(queue_) == end) break;
      last_level_ = end;
    }
    for (const int32_t i : queue_) seen_[static_cast<size_t>(i)] = 0;
    return levels;
  }

  const Neighborhoods& graph_;
  std::vector<uint8_t> seen_;
  std::vector<int32_t> queue_;
  std::ptrdiff_t last_level_ = 0;
};

}  // namespace

Tensor rcm_order(const Relation& relation) {
  const Neighborhoods graph = detail::neighborhoods("rcm_order", relation, false);
  const auto nodes = static_cast<int32_t>(graph.nodes());
  Levels levels(graph);
  std::vector<int32_t> order;
  order.reserve(static_cast<size_t>(nodes));
  for (int32_t i = 0; i < nodes; ++i)
    if (!levels.is_done(i)) levels.append(graph.degree(i) == 0 ? i : levels.far_from(i), order);
  std::reverse(order.begin(), order.end());
  return Tensor::from(order, relation.device());
}

}  // namespace adj
