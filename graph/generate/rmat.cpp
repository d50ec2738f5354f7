#include <adjoint/core/parallel.h>
#include <adjoint/graph/detail/draws.h>

#include <bit>
#include <cmath>

namespace adj {

using namespace detail;

namespace {

constexpr int kLevelsPerBlock = 4;     // one Philox word per level
constexpr int64_t kBlocksPerEdge = 8;  // enough for 31 levels

/// Cumulative probabilities scaled to the 2^32 values of a word.
struct Thresholds {
  uint64_t a, ab, abc;
};

Thresholds thresholds(const RMat& p) {
  const bool shares = p.a >= 0.0 && p.b >= 0.0 && p.c >= 0.0 && p.d >= 0.0;
  ADJ_CHECK(shares && std::abs(p.a + p.b + p.c + p.d - 1.0) <= 1e-6,
            "rmat_graph: expected four probabilities that add up to 1, got {}, {}, {}, {}", p.a, p.b, p.c,
            p.d);
  const auto share = [](double q) { return static_cast<uint64_t>(std::llround(q * 0x1.0p32)); };
  // With d = 0 the last quadrant stays empty despite rounding of the sum.
  constexpr uint64_t kAll = uint64_t{1} << 32;
  return {share(p.a), share(p.a + p.b), p.d > 0.0 ? share(p.a + p.b + p.c) : kAll};
}

}  // namespace

EdgeList rmat_graph(int64_t nodes, int64_t edges, const RMat& probabilities, uint64_t seed) {
  check_counts("rmat_graph", nodes, edges);
  const Thresholds t = thresholds(probabilities);
  const int levels = std::bit_width(static_cast<uint64_t>(nodes - 1));
  const auto node_at = [=](uint64_t cell) {
    return static_cast<int32_t>(cell * static_cast<uint64_t>(nodes) >> levels);
  };
  EdgeList graph = empty_list(nodes, edges);
  parallel_for(edges, kDrawGrain, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      PhiloxBlock block{};
      uint64_t row = 0, column = 0;
      for (int level = 0; level < levels; ++level) {
        if (level % kLevelsPerBlock == 0)
          block = philox(seed, kLevels, static_cast<uint64_t>(e * kBlocksPerEdge + level / kLevelsPerBlock));
        const uint64_t word = block.word[level % kLevelsPerBlock];
        const bool lower = word >= t.ab;
        row = row << 1 | static_cast<uint64_t>(lower);
        column = column << 1 | static_cast<uint64_t>(word >= (lower ? t.abc : t.a));
      }
      graph.src[static_cast<size_t>(e)] = node_at(row);
      graph.dst[static_cast<size_t>(e)] = node_at(column);
    }
  });
  return graph;
}

}  // namespace adj
