#include <adjoint/core/stream.h>
#include <adjoint/graph/detail/index.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/sample/neighbor_sampler.h>
#include <adjoint/kernels/index/select.h>
#include <adjoint/kernels/sample/sample_neighbors.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace adj {

namespace {

using kernels::kAllNeighbors;
using kernels::NeighborChoice;

constexpr int64_t kMostInBlock = std::numeric_limits<int32_t>::max();

/// Table from a node to its number in the batch (kernels/sample/sample_neighbors.h). Each batch uses a higher
/// base, which invalidates older entries.
struct NodeTable {
  Tensor table;
  int64_t base = 0;
  int64_t beyond = 0;  ///< upper bound of the entries of this batch
  int stream = 0;      ///< stream that uses it
};

/// Pool of the tables of a sampler: per stream, as many as were used at once.
class NodeTables {
 public:
  NodeTable take(int64_t nodes, Device device) {
    const int stream = Stream::current(device).id();
    {
      const std::lock_guard lock(mutex_);
      for (auto& free : free_)
        if (free.stream == stream) {
          NodeTable taken = std::move(free);
          free = std::move(free_.back());
          free_.pop_back();
          return taken;
        }
    }
    return {Tensor::full({nodes}, -1, DType::i32, device), 0, 0, stream};
  }
  void give_back(NodeTable table) {
    table.base = std::exchange(table.beyond, 0);
    if (table.base > kMostInBlock / 2) {
      table.table.fill_(-1);
      table.base = 0;
    }
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(table));
  }

 private:
  std::mutex mutex_;
  std::vector<NodeTable> free_;
};

/// What is drawn from: rows of sources, and the edge of each entry (absent: its own number).
struct Rows {
  Csr sources;
  Tensor order;
};

/// The rows of one target and one relation each, and which of them a target has.
struct RelationRows {
  Rows rows;
  Csr of_targets;
};

RelationRows relation_rows(const Graph& graph) {
  const auto type = graph.edge_attributes().find("type");
  ADJ_CHECK(
      type != graph.edge_attributes().end() && type->second.dtype() == DType::i32 && type->second.dims() == 1,
      "neighbor sampler: fan-outs per relation need the edge attribute \"type\", int32 [M]");
  const Tensor& types = type->second;
  const EdgeIndex edges = graph.edge_index();
  int32_t relations = 0;
  for (const int32_t t : types.to_vector<int32_t>()) {
    ADJ_CHECK(t >= 0 && t < kMostInBlock, "neighbor sampler: a relation {}, expected 0 or more", t);
    relations = std::max(relations, t + 1);
  }
  const detail::SortedEdges sorted = detail::sorted_edges(relations, graph.num_nodes(), {types, edges.dst});
  const auto offsets = sorted.csr.offsets.to_vector<int64_t>();
  const auto entry_type = sorted.csr.indices.to_vector<int32_t>();
  std::vector<int64_t> first, rows_of_target{0};
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e)
      if (e == offsets[i] || entry_type[static_cast<size_t>(e)] != entry_type[static_cast<size_t>(e - 1)])
        first.push_back(e);
    rows_of_target.push_back(std::ssize(first));
  }
  const auto count = std::ssize(first);
  first.push_back(graph.num_edges());
  const Device device = graph.device();
  Csr sources{count, graph.num_nodes(), Tensor::from(first, device),
              sorted.order ? detail::gather_edges(edges.src, sorted.order) : edges.src};
  sources.ascending = false;
  return {{std::move(sources), sorted.order},
          {graph.num_nodes(), std::max<int64_t>(1, count), Tensor::from(rows_of_target, device),
           detail::iota(count, device)}};
}

/// Weights by entry of the rows, their prefix sums per row, and the number of positive ones per row.
kernels::EntryWeights entry_weights(const Graph& graph, const Rows& rows) {
  ADJ_CHECK(graph.edge_weight(), "neighbor sampler: weighted sampling of a graph without edge weights");
  const Csr& csr = rows.sources;
  const std::vector<float> weight = graph.edge_weight().to_vector<float>();
  for (size_t e = 0; e < weight.size(); ++e)
    ADJ_CHECK(std::isfinite(weight[e]) && weight[e] >= 0.0f,
              "neighbor sampler: the weight of edge {} is {}, expected a finite one that is not negative", e,
              weight[e]);
  const std::vector<int64_t> offsets = csr.offsets.to_vector<int64_t>();
  std::vector<int32_t> order;
  if (rows.order) order = rows.order.to_vector<int32_t>();
  std::vector<float> by_entry(weight.size());
  std::vector<double> sums(weight.size());
  std::vector<int32_t> positive(static_cast<size_t>(csr.rows));
  for (size_t i = 0; i < positive.size(); ++i) {
    double sum = 0.0;
    for (auto e = static_cast<size_t>(offsets[i]); e < static_cast<size_t>(offsets[i + 1]); ++e) {
      by_entry[e] = weight[order.empty() ? e : static_cast<size_t>(order[e])];
      sums[e] = sum += static_cast<double>(by_entry[e]);
      positive[i] += static_cast<int32_t>(by_entry[e] > 0.0f);
    }
  }
  const Device device = graph.device();
  return {Tensor::from(by_entry, device), Tensor::from(sums, device), Tensor::from(positive, device)};
}

NeighborChoice choice_of(const NeighborSampling& options) {
  if (options.labor) return NeighborChoice::labor;
  if (options.weighted) return options.replace ? NeighborChoice::weighted_repeated : NeighborChoice::weighted;
  return options.replace ? NeighborChoice::uniform_repeated : NeighborChoice::uniform;
}

/// Nodes of the batch so far.
struct Growing {
  Tensor nodes;  ///< int32: the first `known`
  int64_t known = 0;
};

/// One hop, from the first `sources` nodes of the batch to its first `targets`.
struct Hop {
  int64_t targets, sources;
  Tensor offsets, col, edge_ids;
};

/// Numbers new ids and adds them to the batch; returns the number of each id. Waits for the device.
Tensor number(const Tensor& ids, NodeTable& table, Growing& batch) {
  const Device device = ids.device();
  Tensor nodes = Tensor::empty({batch.known + ids.numel()}, DType::i32, device);
  if (batch.known > 0) {
    Tensor front = nodes.rows(0, batch.known);
    front.copy_(batch.nodes.rows(0, batch.known));
  }
  Tensor numbers = Tensor::empty_like(ids), count = Tensor::empty({}, DType::i64, device);
  kernels::number_nodes({.ids = ids,
                         .base = table.base,
                         .known = batch.known,
                         .table = table.table,
                         .nodes = nodes,
                         .number = numbers,
                         .count = count});
  table.beyond = std::max(table.beyond, table.base + nodes.numel());
  batch.nodes = std::move(nodes);
  batch.known = count.to_vector<int64_t>()[0];
  return numbers;
}

/// The seeds as int32 on the graph's device. Throws for a seed out of range.
Tensor checked_seeds(const Tensor& seeds, const Graph& graph) {
  ADJ_CHECK(seeds && seeds.dims() == 1 && (seeds.dtype() == DType::i32 || seeds.dtype() == DType::i64),
            "neighbor sampler: seeds are {}, expected [B] int32 or int64", seeds.str());
  Tensor position = Tensor::empty({}, DType::i64, seeds.device());
  kernels::first_outside({.index = seeds, .limit = graph.num_nodes(), .position = position});
  const int64_t k = position.to_vector<int64_t>()[0];
  ADJ_CHECK(k == seeds.numel(), "neighbor sampler: seed {} is {}, expected a node from 0 to {}", k,
            seeds.rows(k, k + 1).to(Device::cpu()).to(DType::i64).to_vector<int64_t>()[0],
            graph.num_nodes() - 1);
  return seeds.to(DType::i32).to(graph.device());
}

/// Throws, naming the first repeated seed.
[[noreturn]] void refuse_repeated(const Tensor& seeds) {
  const std::vector<int32_t> ids = seeds.to_vector<int32_t>();
  std::unordered_map<int32_t, size_t> first;
  for (size_t k = 0; k < ids.size(); ++k)
    if (const auto [place, is_new] = first.emplace(ids[k], k); !is_new)
      fail("neighbor sampler: seeds {} and {} are both node {}, expected each once", place->second, k,
           ids[k]);
  fail("neighbor sampler: duplicate seed");
}

}  // namespace

struct NeighborSampler::Impl {
  Graph graph;
  NeighborSampling options;
  Rows rows;                                // of each target, or of each of its relations
  std::optional<Csr> rows_of_targets = {};  // then which
  std::optional<kernels::EntryWeights> weights = {};
  mutable NodeTables tables;

  Hop sample_hop(int64_t hop, uint64_t seed, NodeTable& table, Growing& batch) const {
    const Device device = graph.device();
    const int64_t targets = batch.known;
    Tensor chosen = batch.nodes.rows(0, targets), parts;  // rows of target i: parts[i] to parts[i + 1]
    if (rows_of_targets) {
      const kernels::NeighborSample all{
          .csr = *rows_of_targets, .rows = chosen, .fanout = kAllNeighbors, .key = {}};
      parts = Tensor::empty({targets + 1}, DType::i64, device);
      kernels::sample_counts({.request = all, .offsets = parts});
      const int64_t count = parts.rows(targets, targets + 1).to_vector<int64_t>()[0];
      Tensor entry = Tensor::empty({count}, DType::i32, device), number = Tensor::empty_like(entry);
      kernels::sample_neighbors({.request = all, .offsets = parts, .entry = entry, .col = number});
      chosen = number;
    }
    const kernels::NeighborSample sample{.csr = rows.sources,
                                         .rows = chosen,
                                         .fanout = options.fanouts[static_cast<size_t>(hop)],
                                         .choice = choice_of(options),
                                         .key = {.seed = seed, .stream = static_cast<uint64_t>(hop)},
                                         .weights = weights ? &*weights : nullptr};
    const int64_t drawn = chosen.numel();
    Tensor offsets = Tensor::empty({drawn + 1}, DType::i64, device);
    kernels::sample_counts({.request = sample, .offsets = offsets});
    const int64_t edges = offsets.rows(drawn, drawn + 1).to_vector<int64_t>()[0];
    ADJ_CHECK(edges < kMostInBlock - table.base - batch.known,
              "neighbor sampler: {} edges of {} targets in hop {}, expected a batch of fewer than {}", edges,
              targets, hop + 1, kMostInBlock - table.base - batch.known);
    Tensor entry = Tensor::empty({edges}, DType::i32, device), col = Tensor::empty_like(entry);
    kernels::sample_neighbors({.request = sample, .offsets = offsets, .entry = entry, .col = col});
    if (parts) offsets = detail::gather_edges(offsets, parts.to(DType::i32));
    const Tensor numbers = number(col, table, batch);
    return {targets, batch.known, std::move(offsets), numbers,
            rows.order ? detail::gather_edges(rows.order, entry) : entry};
  }
};

NeighborSampler::NeighborSampler(Graph graph, NeighborSampling options) {
  ADJ_CHECK(graph, "neighbor sampler: no graph");
  ADJ_CHECK(!options.fanouts.empty(), "neighbor sampler: no fan-outs, expected one for each hop");
  for (int64_t fanout : options.fanouts)
    ADJ_CHECK(fanout == kAllNeighbors || (fanout >= 1 && fanout <= kMostInBlock),
              "neighbor sampler: a fan-out of {}, expected 1 or more, or -1 for all neighbours", fanout);
  ADJ_CHECK(
      !options.labor || (!options.replace && !options.weighted),
      "neighbor sampler: labor is uniform and without replacement, conflicts with replace and weighted");
  auto impl = std::make_shared<Impl>();
  if (options.per_relation) {
    RelationRows by_relation = relation_rows(graph);
    impl->rows = std::move(by_relation.rows);
    impl->rows_of_targets = std::move(by_relation.of_targets);
  } else {
    impl->rows = {graph.in_edges(), graph.relation().csr_order()};
  }
  if (options.weighted) impl->weights = entry_weights(graph, impl->rows);
  impl->graph = std::move(graph);
  impl->options = std::move(options);
  impl_ = std::move(impl);
}

std::vector<Block> NeighborSampler::sample(const Tensor& seeds, uint64_t seed) const {
  const Tensor distinct = checked_seeds(seeds, graph());
  NodeTable table = impl_->tables.take(graph().num_nodes(), graph().device());
  Growing batch;
  (void)number(distinct, table, batch);
  if (batch.known != distinct.numel()) refuse_repeated(distinct);
  std::vector<Hop> hops;
  for (int64_t hop = 0; hop < std::ssize(options().fanouts); ++hop)
    hops.push_back(impl_->sample_hop(hop, seed, table, batch));
  // Not after an exception: the table may be inconsistent.
  impl_->tables.give_back(std::move(table));

  std::vector<Block> blocks;
  for (auto hop = hops.rbegin(); hop != hops.rend(); ++hop) {
    Csr in_edges{hop->targets, hop->sources, hop->offsets, hop->col};
    in_edges.ascending = false;
    const Block block(Relation::from_csr(std::move(in_edges)), batch.nodes.rows(0, hop->sources),
                      hop->edge_ids);
    const Tensor weight = options().keeps_weights ? graph().edge_weight() : Tensor();
    blocks.push_back(
        block.with_edge_data(weight ? detail::gather_edges(weight, hop->edge_ids) : Tensor(),
                             detail::gather_attributes(graph().edge_attributes(), hop->edge_ids)));
  }
  return blocks;
}

const Graph& NeighborSampler::graph() const { return impl_->graph; }
const NeighborSampling& NeighborSampler::options() const { return impl_->options; }

}  // namespace adj
