#include <adjoint/core/parallel.h>
#include <adjoint/graph/detail/draws.h>

#include <utility>

namespace adj::detail {

using adj::parallel_for;

namespace {

constexpr int64_t kBucket = 1 << 15;    // keys per sorted bucket; 256 KiB
constexpr int64_t kMostBuckets = 4096;  // limits the table of counts
constexpr int64_t kMostChunks = 64;     // same

/// draw(first) … draw(first + count - 1), sorted: bucketed by target, then sorted per bucket. Redrawing a key
/// is cheaper than storing it.
std::vector<uint64_t> sorted_draws(int64_t nodes, int64_t first, int64_t count,
                                   const std::function<uint64_t(int64_t)>& draw) {
  const int64_t buckets = std::clamp<int64_t>(count / kBucket, 1, std::min(nodes, kMostBuckets));
  const int64_t chunk = std::max(ceil_div(std::max<int64_t>(count, 1), kMostChunks), kDrawGrain);
  const int64_t chunks = ceil_div(count, chunk);
  const auto bucket_of = [=](uint64_t key) { return int64_t{target_of(key)} * buckets / nodes; };
  // places[c * buckets + b]: number of keys of chunk c in bucket b, then the position of the first of them.
  std::vector<int64_t> places(static_cast<size_t>(chunks * buckets));
  parallel_for(count, chunk, [&](int64_t begin, int64_t end) {
    int64_t* counts = places.data() + begin / chunk * buckets;
    for (int64_t i = begin; i < end; ++i) ++counts[bucket_of(draw(first + i))];
  });
  std::vector<int64_t> start(static_cast<size_t>(buckets) + 1, count);
  int64_t sum = 0;
  for (int64_t b = 0; b < buckets; ++b) {
    start[static_cast<size_t>(b)] = sum;
    for (int64_t c = 0; c < chunks; ++c)
      sum += std::exchange(places[static_cast<size_t>(c * buckets + b)], sum);
  }
  std::vector<uint64_t> keys(static_cast<size_t>(count));
  parallel_for(count, chunk, [&](int64_t begin, int64_t end) {
    int64_t* next = places.data() + begin / chunk * buckets;
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t key = draw(first + i);
      keys[static_cast<size_t>(next[bucket_of(key)]++)] = key;
    }
  });
  parallel_for(buckets, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      std::sort(keys.begin() + start[static_cast<size_t>(b)],
                keys.begin() + start[static_cast<size_t>(b) + 1]);
  });
  return keys;
}

}  // namespace

std::vector<uint64_t> distinct_edges(int64_t nodes, int64_t count,
                                     const std::function<uint64_t(int64_t)>& draw) {
  std::vector<uint64_t> keys;
  // Never draws more keys than are missing, so keys are rejected only as duplicates.
  for (int64_t drawn = 0; std::ssize(keys) < count;) {
    const int64_t missing = count - std::ssize(keys);
    std::vector<uint64_t> more = sorted_draws(nodes, drawn, missing, draw);
    drawn += missing;
    if (keys.empty()) {
      keys = std::move(more);
    } else {
      const auto middle = std::ssize(keys);
      keys.insert(keys.end(), more.begin(), more.end());
      std::inplace_merge(keys.begin(), keys.begin() + middle, keys.end());
    }
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  }
  return keys;
}

EdgeList list_of(int64_t nodes, const std::vector<uint64_t>& keys, bool undirected) {
  const int64_t count = std::ssize(keys);
  EdgeList graph = empty_list(nodes, undirected ? 2 * count : count);
  parallel_for(count, kDrawGrain, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      const uint64_t key = keys[static_cast<size_t>(e)];
      graph.src[static_cast<size_t>(e)] = source_of(key);
      graph.dst[static_cast<size_t>(e)] = target_of(key);
      if (!undirected) continue;
      graph.src[static_cast<size_t>(count + e)] = target_of(key);
      graph.dst[static_cast<size_t>(count + e)] = source_of(key);
    }
  });
  return graph;
}

}  // namespace adj::detail
