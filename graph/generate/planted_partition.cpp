#include <adjoint/graph/detail/draws.h>

#include <cmath>

namespace adj {

using namespace detail;

namespace {

constexpr uint64_t kOrder = 0x706c616e74656421;  // generator key for assigning nodes to blocks

/// Positions 0 … nodes - 1 in blocks whose sizes differ by at most one.
struct Blocks {
  int64_t nodes, count;

  int64_t first(int64_t block) const { return block * nodes / count; }
  int64_t block_of(int64_t position) const { return ((position + 1) * count - 1) / nodes; }
  int64_t size(int64_t block) const { return first(block + 1) - first(block); }
  int64_t pairs_within() const {
    const int64_t small = nodes / count, larger = nodes % count;
    return ((count - larger) * small * (small - 1) + larger * (small + 1) * small) / 2;
  }
};

void check_room(const char* where, int64_t edges, int64_t pairs) {
  ADJ_CHECK(edges <= pairs / 2,
            "planted_partition: {} edges {} blocks, expected up to half of the {} pairs there", edges, where,
            pairs);
}

}  // namespace

PlantedPartition planted_partition(int64_t nodes, int64_t blocks, double degree, double homophily,
                                   uint64_t seed) {
  check_counts("planted_partition", nodes, 0);
  ADJ_CHECK(blocks >= 1 && blocks <= nodes, "planted_partition: expected 1 to {} blocks, got {}", nodes,
            blocks);
  ADJ_CHECK(degree >= 0.0 && degree * static_cast<double>(nodes) < static_cast<double>(kMostEdges),
            "planted_partition: expected a mean degree of 0 or more and fewer than 2^31 edges, got {}",
            degree);
  ADJ_CHECK(homophily >= 0.0 && homophily <= 1.0, "planted_partition: expected homophily 0 to 1, got {}",
            homophily);
  const Blocks block{nodes, blocks};
  const auto wanted = std::llround(degree * static_cast<double>(nodes) / 2.0);
  const auto inside = std::llround(homophily * static_cast<double>(wanted));
  check_room("within", inside, block.pairs_within());
  check_room("between", wanted - inside, nodes * (nodes - 1) / 2 - block.pairs_within());

  Generator order = Generator(seed).split(kOrder);
  const Tensor dealt = random_permutation(nodes, order);
  const int32_t* node = dealt.data<int32_t>();
  const auto key = [=](int64_t p, int64_t q) {
    return edge_key(std::min(node[p], node[q]), std::max(node[p], node[q]));
  };
  const auto draw_inner = [=](int64_t i) {
    const PhiloxBlock words = philox(seed, kPairs, static_cast<uint64_t>(i));
    // A block of one node has no pair: skip to the next node of a larger block.
    int64_t p = scaled(uniform(words, 0), nodes);
    while (block.size(block.block_of(p)) == 1) p = (p + 1) % nodes;
    const int64_t b = block.block_of(p);
    int64_t q = block.first(b) + scaled(uniform(words, 1), block.size(b) - 1);
    if (q >= p) ++q;
    return key(p, q);
  };
  const auto between = [=](int64_t i) {
    const PhiloxBlock words = philox(seed, kPairsAcross, static_cast<uint64_t>(i));
    const int64_t p = scaled(uniform(words, 0), nodes), b = block.block_of(p);
    int64_t q = scaled(uniform(words, 1), nodes - block.size(b));
    if (q >= block.first(b)) q += block.size(b);
    return key(p, q);
  };
  PlantedPartition drawn;
  {
    std::vector<uint64_t> keys = distinct_edges(nodes, inside, draw_inner);
    const std::vector<uint64_t> across = distinct_edges(nodes, wanted - inside, between);
    keys.insert(keys.end(), across.begin(), across.end());
    drawn.edges = list_of(nodes, keys, true);
  }
  drawn.block.resize(static_cast<size_t>(nodes));
  for (int64_t p = 0; p < nodes; ++p)
    drawn.block[static_cast<size_t>(node[p])] = static_cast<int32_t>(block.block_of(p));
  return drawn;
}

}  // namespace adj
