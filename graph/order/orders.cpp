#include <adjoint/core/parallel.h>
#include <adjoint/graph/detail/neighborhoods.h>
#include <adjoint/graph/order/orders.h>
#include <adjoint/graph/order/partition.h>
#include <adjoint/kernels/index/select.h>
#include <adjoint/kernels/sparse/csr.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include <fmt/ranges.h>

namespace adj {

namespace {

void check_order(const char* op, const Tensor& order) {
  ADJ_CHECK(order && order.dims() == 1 && order.dtype() == DType::i32,
            "{}: the order is {}, expected [N] int32", op, order.str());
}

}  // namespace

Tensor order_by_part(const Tensor& part) {
  ADJ_CHECK(part && part.dims() == 1 && part.dtype() == DType::i32,
            "order_by_part: parts are {}, expected [N] int32", part.str());
  const std::vector<int32_t> parts = part.to_vector<int32_t>();
  for (size_t i = 0; i < parts.size(); ++i)
    ADJ_CHECK(parts[i] >= 0 && parts[i] < std::ssize(parts),
              "order_by_part: part[{}] is {}, expected 0 to {}", i, parts[i], parts.size() - 1);
  return Tensor::from(detail::nodes_by({parts.begin(), parts.end()}), part.device());
}

Tensor metis_order(const Relation& relation, int64_t parts, uint64_t seed) {
  ADJ_CHECK(parts >= 0, "metis_order: expected 0 or more parts, got {}", parts);
  const int64_t blocks = parts > 0 ? parts : blocks_of(relation.num_dst());
  return order_by_part(metis_partition(relation, blocks, {.seed = seed}));
}

Tensor degree_order(const Relation& relation) {
  ADJ_CHECK(relation && relation.num_src() == relation.num_dst(),
            "degree_order: a relation of {} sources to {} targets, expected one set of nodes",
            relation ? relation.num_src() : 0, relation ? relation.num_dst() : 0);
  const Csr csr = relation.csr().to(Device::cpu());
  const int64_t* offsets = csr.offsets.data<int64_t>();
  const int32_t* sources = csr.indices.data<int32_t>();
  std::vector<int64_t> degree(static_cast<size_t>(csr.rows));
  for (int64_t i = 0; i < csr.rows; ++i) degree[static_cast<size_t>(i)] += offsets[i + 1] - offsets[i];
  for (int64_t e = 0; e < csr.entries(); ++e) ++degree[static_cast<size_t>(sources[e])];
  const int64_t largest = degree.empty() ? 0 : *std::max_element(degree.begin(), degree.end());
  for (int64_t& d : degree) d = largest - d;
  return Tensor::from(detail::nodes_by(degree), relation.device());
}

Tensor random_order(int64_t nodes, Generator& generator, Device device) {
  return random_permutation(nodes, generator, device);
}

const std::vector<std::string>& order_names() {
  static const std::vector<std::string> names{"metis", "rcm", "rabbit", "degree", "random"};
  return names;
}

Tensor named_order(const std::string& name, const Relation& relation, const OrderOptions& options) {
  const auto make = [&]() -> Tensor {
    if (name == "metis") return metis_order(relation, options.parts, options.seed);
    if (name == "rcm") return rcm_order(relation);
    if (name == "rabbit") return rabbit_order(relation);
    if (name == "degree") return degree_order(relation);
    if (name == "random") {
      Generator generator(options.seed);
      return random_order(relation.num_dst(), generator, relation.device());
    }
    usage_fail("order '{}': expected one of {}", name, fmt::join(order_names(), ", "));
  };
  const Tensor order = make();
  return options.graph_offsets ? order_within(order, options.graph_offsets) : order;
}

Tensor order_within(const Tensor& order, const Tensor& graph_offsets) {
  check_order("order_within", order);
  ADJ_CHECK(graph_offsets && graph_offsets.dims() == 1 && graph_offsets.dtype() == DType::i64 &&
                graph_offsets.numel() >= 1,
            "order_within: offsets of graphs are {}, expected [G + 1] int64", graph_offsets.str());
  std::vector<int64_t> offsets = graph_offsets.to_vector<int64_t>();
  ADJ_CHECK(offsets.front() == 0 && offsets.back() == order.numel() &&
                std::is_sorted(offsets.begin(), offsets.end()),
            "order_within: offsets of graphs go from {} to {}, expected ascending numbers from 0 to {}",
            offsets.front(), offsets.back(), order.numel());
  (void)inverse_order(order);
  const std::vector<int32_t> nodes = order.to_vector<int32_t>();
  std::vector<int32_t> graph_of(nodes.size());
  for (size_t g = 0; g + 1 < offsets.size(); ++g)
    std::fill(graph_of.begin() + offsets[g], graph_of.begin() + offsets[g + 1], static_cast<int32_t>(g));
  std::vector<int32_t> result(nodes.size());
  std::vector<int64_t>& next = offsets;  // position of each graph's next node
  for (const int32_t node : nodes) {
    const auto graph = static_cast<size_t>(graph_of[static_cast<size_t>(node)]);
    result[static_cast<size_t>(next[graph]++)] = node;
  }
  return Tensor::from(result, order.device());
}

Tensor inverse_order(const Tensor& order) {
  check_order("order", order);
  const int64_t nodes = order.numel();
  const auto node_at = [&](int64_t k) { return order.rows(k, k + 1).to_vector<int32_t>()[0]; };
  Tensor place = Tensor::empty({}, DType::i64, order.device());
  kernels::first_outside({.index = order, .limit = nodes, .position = place});
  if (const int64_t k = place.to_vector<int64_t>()[0]; k < nodes)
    fail("order: node {} at position {}, expected 0 to {}", node_at(k), k, nodes - 1);
  Tensor position = Tensor::empty_like(order);
  kernels::renumber({.index = order, .number = position, .repeated = place});
  if (const int64_t k = place.to_vector<int64_t>()[0]; k < nodes)
    fail("order: node {} at position {} occurs twice, expected each node once", node_at(k), k);
  return position;
}

EdgeSpans edge_spans(const Relation& relation) {
  const Csr csr = relation.csr().to(Device::cpu());
  const int64_t entries = csr.entries();
  if (entries == 0) return {};
  const int64_t* offsets = csr.offsets.data<int64_t>();
  const int32_t* sources = csr.indices.data<int32_t>();
  std::vector<int64_t> edges(static_cast<size_t>(std::max(csr.rows, csr.cols)), 0);  // by |i - j|
  for (int64_t i = 0; i < csr.rows; ++i)
    for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e)
      ++edges[static_cast<size_t>(std::abs(i - sources[e]))];
  EdgeSpans spans;
  int64_t sum = 0, passed = 0;
  for (int64_t span = 0; span < std::ssize(edges); ++span) {
    const int64_t count = edges[static_cast<size_t>(span)];
    if (count == 0) continue;
    if (2 * passed < entries) spans.median = span;
    passed += count;
    sum += span * count;
    spans.bandwidth = span;
  }
  spans.mean = static_cast<double>(sum) / static_cast<double>(entries);
  return spans;
}

std::vector<TileCount> window_reuse(const Csr& a, int64_t height, int64_t width,
                                    const std::vector<int64_t>& least) {
  kernels::check_csr("window_reuse", a);
  ADJ_CHECK(a.device().is_cpu(), "window_reuse: the structure is on {}, expected it on the CPU",
            a.device().str());
  for (int64_t count : {height, width})
    ADJ_CHECK(count >= 1 && count <= kernels::kMaxEntries,
              "window_reuse: tiles of {} x {}, expected sides of 1 to 2^31 - 1", height, width);
  std::vector<TileCount> none, counts;
  for (int64_t count : least) {
    ADJ_CHECK(count >= 1 && count <= kernels::kMaxEntries,
              "window_reuse: tiles of at least {} entries, expected 1 to 2^31 - 1", count);
    none.push_back({count, 0, 0});
  }
  counts = none;
  const int64_t* offsets = a.offsets.data<int64_t>();
  const int32_t* columns = a.indices.data<int32_t>();
  const int64_t windows = ceil_div(a.rows, height);
  std::mutex mutex;
  // Few chunks, since each has an array over all tiles of a window.
  parallel_for(windows, std::max<int64_t>(1, ceil_div(windows, 64)), [&](int64_t begin, int64_t end) {
    std::vector<int32_t> entries(static_cast<size_t>(ceil_div(a.cols, width)));
    std::vector<size_t> touched;
    std::vector<TileCount> found = none;
    for (int64_t w = begin; w < end; ++w) {
      const int64_t last = offsets[std::min((w + 1) * height, a.rows)];
      for (int64_t e = offsets[w * height]; e < last; ++e) {
        const auto tile = static_cast<size_t>(columns[e] / width);
        if (entries[tile]++ == 0) touched.push_back(tile);
      }
      for (size_t tile : touched) {
        const int64_t n = std::exchange(entries[tile], 0);
        for (TileCount& count : found)
          if (n >= count.least) count = {count.least, count.tiles + 1, count.entries + n};
      }
      touched.clear();
    }
    const std::lock_guard lock(mutex);
    for (size_t k = 0; k < counts.size(); ++k) {
      counts[k].tiles += found[k].tiles;
      counts[k].entries += found[k].entries;
    }
  });
  return counts;
}

}  // namespace adj
