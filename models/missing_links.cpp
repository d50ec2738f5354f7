#include <adjoint/core/error.h>
#include <adjoint/models/trained_model.h>

#include <algorithm>

namespace adj {

namespace {

struct ScoredPair {
  float score;
  int32_t src, dst;
  /// Ranks before another: the order is total, so that results do not depend on blocks.
  bool operator<(const ScoredPair& other) const {
    if (score != other.score) return score > other.score;
    return std::pair(src, dst) < std::pair(other.src, other.dst);
  }
};

/// The first `most` of the pairs added, in a heap with the last of them on top.
class BestPairs {
 public:
  explicit BestPairs(int64_t most) : most_(static_cast<size_t>(most)) {}

  void add(const ScoredPair& pair) {
    if (heap_.size() == most_) {
      if (!(pair < heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
    }
    heap_.push_back(pair);
    std::push_heap(heap_.begin(), heap_.end());
  }
  void move_to(LinkPredictions& links) {
    std::sort_heap(heap_.begin(), heap_.end());
    for (const ScoredPair& pair : heap_) {
      links.src.push_back(pair.src);
      links.dst.push_back(pair.dst);
      links.score.push_back(pair.score);
    }
    heap_.clear();
  }

 private:
  size_t most_;
  std::vector<ScoredPair> heap_;
};

/// Tells which nodes an edge joins with one node, in either direction.
class Neighbors {
 public:
  explicit Neighbors(const Graph& graph)
      : in_(graph.in_edges()), out_(graph.out_edges()), joined_(static_cast<size_t>(graph.num_nodes()), -1) {}

  /// Chooses the node.
  void choose(int32_t node) {
    node_ = node;
    for (const Csr* edges : {&in_, &out_}) {
      const int64_t* offsets = edges->offsets.data<int64_t>();
      for (int64_t k = offsets[node]; k < offsets[node + 1]; ++k)
        joined_[static_cast<size_t>(edges->indices.data<int32_t>()[k])] = node;
    }
  }
  bool has(int32_t other) const { return joined_[static_cast<size_t>(other)] == node_; }

 private:
  Csr in_, out_;
  std::vector<int32_t> joined_;  // by node: the last chosen one that it is joined with
  int32_t node_ = -1;
};

/// By node: its graph's nodes, first to end.
struct GraphBounds {
  std::vector<int32_t> first, end;

  GraphBounds(const Tensor& offsets, int32_t nodes)
      : first(static_cast<size_t>(nodes), 0), end(static_cast<size_t>(nodes), nodes) {
    if (!offsets) return;
    const std::vector<int64_t> bounds = offsets.to_vector<int64_t>();
    ADJ_CHECK(!bounds.empty() && bounds.front() == 0 && bounds.back() == nodes &&
                  std::is_sorted(bounds.begin(), bounds.end()),
              "missing_links: offsets of graphs do not ascend from 0 to {} nodes", nodes);
    for (size_t g = 0; g + 1 < bounds.size(); ++g) {
      std::fill(first.begin() + bounds[g], first.begin() + bounds[g + 1], static_cast<int32_t>(bounds[g]));
      std::fill(end.begin() + bounds[g], end.begin() + bounds[g + 1], static_cast<int32_t>(bounds[g + 1]));
    }
  }
};

/// Candidates that are scored together.
struct PairBlock {
  static constexpr size_t kPairs = 1 << 16;
  std::vector<int32_t> src, dst;

  void score(const TrainedModel& trained, const Tensor& embeddings, BestPairs& best) {
    if (src.empty()) return;
    const auto score =
        trained.score_links(embeddings, {Tensor::from(src), Tensor::from(dst)}).to_vector<float>();
    for (size_t k = 0; k < score.size(); ++k) best.add({score[k], src[k], dst[k]});
    src.clear();
    dst.clear();
  }
};

}  // namespace

LinkPredictions TrainedModel::missing_links(const Tensor& embeddings, const Graph& graph, int64_t most,
                                            const std::optional<std::vector<int32_t>>& sources,
                                            const Tensor& offsets, int64_t first_target) const {
  ADJ_CHECK(most >= 1, "missing_links: {} pairs, expected 1 or more", most);
  const auto nodes = static_cast<int32_t>(graph.num_nodes()),
             sources_end = first_target > 0 ? static_cast<int32_t>(first_target) : nodes;
  ADJ_CHECK(first_target >= 0 && first_target <= nodes && (first_target == 0 || !offsets),
            "missing_links: targets from node {}, expected 0 to {}, and no offsets of graphs", first_target,
            nodes);
  ADJ_CHECK(embeddings.dims() == 2 && embeddings.size(0) == nodes,
            "missing_links: embeddings {}, expected one for each of {} nodes", embeddings.str(), nodes);
  const GraphBounds bounds(offsets, nodes);
  Neighbors neighbors(graph.to(Device::cpu()));
  const Tensor z = embeddings.to(device());
  LinkPredictions links;
  BestPairs best(most);
  PairBlock block;
  const auto add_pairs = [&](int32_t source, int32_t first) {
    neighbors.choose(source);
    for (int32_t target = first; target < bounds.end[static_cast<size_t>(source)]; ++target) {
      if (target == source || neighbors.has(target)) continue;
      block.src.push_back(source);
      block.dst.push_back(target);
      if (block.src.size() == PairBlock::kPairs) block.score(*this, z, best);
    }
  };
  if (sources) {
    for (const int32_t source : *sources) {
      ADJ_CHECK(source >= 0 && source < sources_end, "missing_links: node {}, expected 0 to {}", source,
                sources_end - 1);
      add_pairs(source,
                std::max(bounds.first[static_cast<size_t>(source)], static_cast<int32_t>(first_target)));
      block.score(*this, z, best);
      best.move_to(links);
    }
    return links;
  }
  for (int32_t source = 0; source < sources_end; ++source)
    add_pairs(source, std::max(source + 1, static_cast<int32_t>(first_target)));
  block.score(*this, z, best);
  best.move_to(links);
  return links;
}

}  // namespace adj
