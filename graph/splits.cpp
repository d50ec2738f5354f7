#include <adjoint/graph/detail/link_parts.h>
#include <adjoint/graph/sample/negative_sampling.h>
#include <adjoint/graph/splits.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace adj {

namespace {

enum class Part : uint8_t { train, val, test, none };

void check_fractions(const char* op, int64_t n, const SplitFractions& fractions) {
  ADJ_CHECK(n >= 0 && fractions.val >= 0.0 && fractions.test >= 0.0 && fractions.val + fractions.test <= 1.0,
            "{}: {} of {} to validate and {} to test, expected fractions from 0 to 1 together", op,
            fractions.val, n, fractions.test);
}

/// The part of each of n items.
std::vector<Part> deal(const char* op, int64_t n, const SplitFractions& fractions, Generator& generator) {
  check_fractions(op, n, fractions);
  const auto part_of = [&](double fraction) { return std::llround(fraction * static_cast<double>(n)); };
  const int64_t val = part_of(fractions.val), test = std::min<int64_t>(part_of(fractions.test), n - val);
  std::vector<Part> parts(static_cast<size_t>(n), Part::train);
  const std::vector<int32_t> order = random_permutation(n, generator).to_vector<int32_t>();
  for (int64_t k = 0; k < val + test; ++k)
    parts[static_cast<size_t>(order[static_cast<size_t>(k)])] = k < val ? Part::val : Part::test;
  return parts;
}

/// Labelled items, in random order by class.
std::vector<int32_t> order_by_class(const char* op, const Tensor& labels, Generator& generator) {
  ADJ_CHECK(labels && labels.dims() == 1 && labels.dtype() == DType::i32,
            "{}: labels are {}, expected int32 [n]", op, labels.str());
  const std::vector<int32_t> y = labels.to_vector<int32_t>();
  // The order within a class stays random.
  std::vector<int32_t> order = random_permutation(std::ssize(y), generator).to_vector<int32_t>();
  std::erase_if(order, [&](int32_t i) { return y[static_cast<size_t>(i)] < 0; });
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return y[static_cast<size_t>(a)] < y[static_cast<size_t>(b)];
  });
  return order;
}

Tensor places_of(const std::vector<Part>& parts, Part part, Device device) {
  std::vector<int32_t> places;
  for (size_t k = 0; k < parts.size(); ++k)
    if (parts[k] == part) places.push_back(static_cast<int32_t>(k));
  return Tensor::from(places, device);
}

NodeSplit split_of(const std::vector<Part>& parts, Device device) {
  return {places_of(parts, Part::train, device), places_of(parts, Part::val, device),
          places_of(parts, Part::test, device)};
}

/// An edge between two different nodes, regardless of direction.
struct NodePair {
  int32_t low, high;
  int32_t edge;
  bool same_nodes(const NodePair& other) const { return low == other.low && high == other.high; }
};

/// Sorted by nodes, then edge number.
std::vector<NodePair> edges_by_pair(const std::vector<int32_t>& src, const std::vector<int32_t>& dst) {
  std::vector<NodePair> pairs;
  pairs.reserve(src.size());
  for (size_t e = 0; e < src.size(); ++e)
    if (src[e] != dst[e])
      pairs.push_back({std::min(src[e], dst[e]), std::max(src[e], dst[e]), static_cast<int32_t>(e)});
  std::sort(pairs.begin(), pairs.end(), [](const NodePair& a, const NodePair& b) {
    return std::tie(a.low, a.high, a.edge) < std::tie(b.low, b.high, b.edge);
  });
  return pairs;
}

/// One edge per direction of every node pair in `part` (a single direction if `one_direction`).
EdgeIndex positives(const std::vector<Part>& parts, Part part, const std::vector<int32_t>& src,
                    const std::vector<int32_t>& dst, bool one_direction, Device device) {
  std::vector<std::pair<int32_t, int32_t>> cells;
  for (size_t e = 0; e < parts.size(); ++e)
    if (parts[e] == part && src[e] != dst[e]) cells.emplace_back(dst[e], src[e]);
  if (one_direction) {  // from the smaller node, if it has both
    const auto key = [](const auto& cell) { return std::minmax(cell.first, cell.second); };
    std::sort(cells.begin(), cells.end(), [&](const auto& a, const auto& b) {
      return std::pair(key(a), a.second) < std::pair(key(b), b.second);
    });
    const auto last = std::unique(cells.begin(), cells.end(),
                                  [&](const auto& a, const auto& b) { return key(a) == key(b); });
    cells.erase(last, cells.end());
  }
  std::sort(cells.begin(), cells.end());
  cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
  std::vector<int32_t> sources, targets;
  for (const auto& [target, source] : cells) {
    sources.push_back(source);
    targets.push_back(target);
  }
  return {Tensor::from(sources, device), Tensor::from(targets, device)};
}

/// The part of each edge: that of its pair of nodes.
std::vector<Part> deal_edges(const std::vector<int32_t>& src, const std::vector<int32_t>& dst,
                             const SplitFractions& fractions, Generator& generator) {
  const std::vector<NodePair> by_pair = edges_by_pair(src, dst);
  int64_t pairs = 0;
  for (size_t k = 0; k < by_pair.size(); ++k) pairs += k == 0 || !by_pair[k].same_nodes(by_pair[k - 1]);
  const std::vector<Part> part_of_pair = deal("random_link_split", pairs, fractions, generator);
  std::vector<Part> parts(src.size(), Part::train);
  size_t pair = 0;
  for (size_t k = 0; k < by_pair.size(); ++k) {
    if (k > 0 && !by_pair[k].same_nodes(by_pair[k - 1])) ++pair;
    parts[static_cast<size_t>(by_pair[k].edge)] = part_of_pair[pair];
  }
  return parts;
}

}  // namespace

NodeSplit random_node_split(int64_t n, const SplitFractions& fractions, Generator& generator, Device device) {
  return split_of(deal("random_node_split", n, fractions, generator), device);
}

NodeSplit stratified_node_split(const Tensor& labels, const SplitFractions& fractions, Generator& generator) {
  const std::vector<int32_t> order = order_by_class("stratified_node_split", labels, generator);
  check_fractions("stratified_node_split", std::ssize(order), fractions);
  const std::array<double, 3> shares{1.0 - fractions.val - fractions.test, fractions.val, fractions.test};
  std::array<int64_t, 3> dealt{};
  std::vector<Part> parts(static_cast<size_t>(labels.numel()), Part::none);
  for (size_t k = 0; k < order.size(); ++k) {
    const auto lacks = [&](size_t p) {
      return static_cast<double>(k + 1) * shares[p] - static_cast<double>(dealt[p]);
    };
    size_t part = 0;
    for (size_t p : {1, 2})
      if (lacks(p) > lacks(part)) part = p;
    ++dealt[part];
    parts[static_cast<size_t>(order[k])] = static_cast<Part>(part);
  }
  return split_of(parts, labels.device());
}

Tensor stratified_folds(const Tensor& labels, int64_t folds, Generator& generator) {
  const std::vector<int32_t> order = order_by_class("stratified_folds", labels, generator);
  ADJ_CHECK(folds >= 2 && folds <= std::ssize(order),
            "stratified_folds: {} folds of {} labelled items, expected 2 to {}", folds, order.size(),
            order.size());
  std::vector<int32_t> fold(static_cast<size_t>(labels.numel()), -1);
  for (size_t k = 0; k < order.size(); ++k)
    fold[static_cast<size_t>(order[k])] = static_cast<int32_t>(static_cast<int64_t>(k) % folds);
  return Tensor::from(fold, labels.device());
}

EdgeIndex linked_pairs(const Graph& graph, bool undirected) {
  const EdgeIndex edges = graph.edge_index();
  const std::vector<int32_t> src = edges.src.to_vector<int32_t>(), dst = edges.dst.to_vector<int32_t>();
  return positives(std::vector<Part>(src.size(), Part::train), Part::train, src, dst,
                   undirected || graph.relation().symmetric(), graph.device());
}

detail::LinkParts detail::deal_links(const Graph& graph, const SplitFractions& fractions,
                                     Generator& generator, bool undirected) {
  const Device device = graph.device();
  const EdgeIndex edges = graph.edge_index();
  const std::vector<int32_t> src = edges.src.to_vector<int32_t>(), dst = edges.dst.to_vector<int32_t>();
  const std::vector<Part> parts = deal_edges(src, dst, fractions, generator);
  const bool one_direction = undirected || graph.relation().symmetric();
  return {places_of(parts, Part::train, device), positives(parts, Part::val, src, dst, one_direction, device),
          positives(parts, Part::test, src, dst, one_direction, device)};
}

LinkSplit random_link_split(const Graph& graph, const SplitFractions& fractions, Generator& generator,
                            bool undirected) {
  const auto [train, val, test] = detail::deal_links(graph, fractions, generator, undirected);
  // Drawn together, so that all are distinct.
  const int64_t first = val.src.numel(), all = first + test.src.numel();
  const EdgeIndex negative = negative_sampling(graph, all, generator, {.undirected = undirected});
  return {edge_subgraph(graph, train),
          {val, {negative.src.rows(0, first), negative.dst.rows(0, first)}},
          {test, {negative.src.rows(first, all), negative.dst.rows(first, all)}}};
}

}  // namespace adj
