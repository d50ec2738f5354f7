#include <adjoint/graph/detail/neighborhoods.h>
#include <adjoint/graph/order/partition.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <queue>
#include <unordered_map>

#include <metis.h>

namespace adj {

namespace {

constexpr int64_t kMostInMetis = std::numeric_limits<int32_t>::max();
static_assert(sizeof(idx_t) == sizeof(int32_t),
              "METIS is expected with 32-bit indices, as distributions have it");

std::vector<int32_t> parts_of_metis(detail::Neighborhoods graph, int64_t parts, const PartitionOptions& o) {
  static std::mutex one_at_a_time;  // METIS uses the global rand()
  const int64_t pairs = std::ssize(graph.neighbors);
  const int64_t joined = std::reduce(graph.edges.begin(), graph.edges.end(), int64_t{0});
  ADJ_CHECK(
      pairs <= kMostInMetis && joined <= kMostInMetis,
      "metis_partition: {} neighbours of {} nodes, {} edges in both directions, METIS supports at most {}",
      pairs, graph.nodes(), std::max(pairs, joined), kMostInMetis);
  std::vector<idx_t> starts(graph.offsets.begin(), graph.offsets.end());
  graph.offsets = {};
  idx_t nodes = static_cast<idx_t>(std::ssize(starts) - 1), constraints = 1,
        count = static_cast<idx_t>(parts), cut = 0;
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = static_cast<idx_t>(o.seed);
  options[METIS_OPTION_UFACTOR] = static_cast<idx_t>(std::max(1L, std::lround(1000.0 * o.imbalance)));
  options[METIS_OPTION_NUMBERING] = 0;
  std::vector<int32_t> part(static_cast<size_t>(nodes));
  const std::lock_guard lock(one_at_a_time);
  const int status = METIS_PartGraphKway(&nodes, &constraints, starts.data(), graph.neighbors.data(), nullptr,
                                         nullptr, graph.edges.empty() ? nullptr : graph.edges.data(), &count,
                                         nullptr, nullptr, options, &cut, part.data());
  if (status == METIS_ERROR_MEMORY)
    throw OutOfMemory(fmt::format("metis_partition: no memory for METIS to part {} nodes with {} neighbours",
                                  nodes, pairs));
  ADJ_CHECK(status == METIS_OK, "metis_partition: METIS failed with status {} on {} nodes with {} neighbours",
            status, nodes, pairs);
  return part;
}

/// Fills parts that METIS left empty (few nodes per part): each takes a node from the currently largest part.
void fill_empty_parts(std::vector<int32_t>& part, int64_t parts) {
  std::vector<int64_t> size(static_cast<size_t>(parts), 0);
  for (const int32_t p : part) ++size[static_cast<size_t>(p)];
  if (std::find(size.begin(), size.end(), 0) == size.end()) return;
  std::vector<std::vector<int32_t>> nodes(size.size());
  for (size_t i = 0; i < part.size(); ++i)
    nodes[static_cast<size_t>(part[i])].push_back(static_cast<int32_t>(i));
  std::priority_queue<std::pair<size_t, size_t>> largest;
  for (size_t p = 0; p < nodes.size(); ++p) largest.emplace(nodes[p].size(), p);
  for (size_t empty = 0; empty < size.size(); ++empty) {
    if (size[empty] != 0) continue;
    const size_t donor = largest.top().second;
    largest.pop();
    part[static_cast<size_t>(nodes[donor].back())] = static_cast<int32_t>(empty);
    nodes[donor].pop_back();
    largest.emplace(nodes[donor].size(), donor);
  }
}

}  // namespace

Tensor metis_partition(const Relation& relation, int64_t parts, const PartitionOptions& options) {
  ADJ_CHECK(parts >= 1 && parts <= kMostInMetis, "metis_partition: expected 1 to {} parts, got {}",
            kMostInMetis, parts);
  ADJ_CHECK(options.imbalance >= 0.001 && options.imbalance <= 10.0,
            "metis_partition: expected an imbalance of 0.001 to 10, got {}", options.imbalance);
  ADJ_CHECK(options.seed <= static_cast<uint64_t>(kMostInMetis),
            "metis_partition: expected a seed of 0 to {}, got {}", kMostInMetis, options.seed);
  detail::Neighborhoods graph = detail::neighborhoods("metis_partition", relation, true);
  const int64_t nodes = graph.nodes();
  std::vector<int32_t> part(static_cast<size_t>(nodes), 0);
  if (parts >= nodes) {
    std::iota(part.begin(), part.end(), 0);
  } else if (parts > 1 && graph.neighbors.empty()) {
    for (int64_t i = 0; i < nodes; ++i)
      part[static_cast<size_t>(i)] = static_cast<int32_t>(i * parts / nodes);
  } else if (parts > 1) {
    part = parts_of_metis(std::move(graph), parts, options);
    fill_empty_parts(part, parts);
  }
  return Tensor::from(part, relation.device());
}

PartitionSummary summarize_partition(const Relation& relation, const Tensor& part) {
  ADJ_CHECK(relation && relation.num_src() == relation.num_dst() && part && part.dims() == 1 &&
                part.dtype() == DType::i32 && part.numel() == relation.num_dst(),
            "summarize_partition: parts are {}, expected [{}] int32 and one set of nodes", part.str(),
            relation ? relation.num_dst() : 0);
  const std::vector<int32_t> parts = part.to_vector<int32_t>();
  PartitionSummary summary;
  if (parts.empty()) return summary;
  const auto [least, most] = std::minmax_element(parts.begin(), parts.end());
  ADJ_CHECK(*least >= 0, "summarize_partition: part[{}] is {}, expected 0 or more", least - parts.begin(),
            *least);
  summary.parts = int64_t{*most} + 1;
  std::unordered_map<int32_t, int64_t> size;  // of parts with nodes: there may be few of many numbers
  for (const int32_t p : parts) ++size[p];
  summary.smallest = std::ssize(size) < summary.parts ? 0 : relation.num_dst();
  for (const auto& [p, nodes] : size) {
    summary.smallest = std::min(summary.smallest, nodes);
    summary.largest = std::max(summary.largest, nodes);
  }
  summary.balance = static_cast<double>(summary.largest) * static_cast<double>(summary.parts) /
                    static_cast<double>(parts.size());
  const Csr csr = relation.csr().to(Device::cpu());
  const int64_t* offsets = csr.offsets.data<int64_t>();
  const int32_t* sources = csr.indices.data<int32_t>();
  for (int64_t i = 0; i < csr.rows; ++i)
    for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e)
      summary.cut += parts[static_cast<size_t>(i)] != parts[static_cast<size_t>(sources[e])];
  return summary;
}

}  // namespace adj
