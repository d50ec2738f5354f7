#include <adjoint/core/parallel.h>
#include <adjoint/graph/detail/draws.h>
#include <adjoint/graph/sample/saint_sampler.h>

#include <algorithm>
#include <limits>

namespace adj {

namespace {

constexpr int64_t kDraws = 1024;  // per chunk of a thread
constexpr int64_t kMostCoverage = std::numeric_limits<int32_t>::max();

/// A random entry of the non-empty row i.
int32_t entry_of(const Csr& csr, int64_t i, double u) {
  const int64_t* offsets = csr.offsets.data<int64_t>();
  return csr.indices.data<int32_t>()[offsets[i] + detail::scaled(u, offsets[i + 1] - offsets[i])];
}

std::vector<int32_t> rows_with_entries(const Csr& csr) {
  const int64_t* offsets = csr.offsets.data<int64_t>();
  std::vector<int32_t> rows;
  for (int64_t i = 0; i < csr.rows; ++i)
    if (offsets[i + 1] > offsets[i]) rows.push_back(static_cast<int32_t>(i));
  return rows;
}

}  // namespace

void SaintSampling::check() const {
  ADJ_CHECK(budget >= 1 && budget <= kMostDrawn && walk_length >= 0 && walk_length < kMostDrawn,
            "SaintSampler: a budget of {} and walks of {} steps, expected 1 to {} and 0 to {}", budget,
            walk_length, kMostDrawn, kMostDrawn - 1);
  ADJ_CHECK(budget <= kMostDrawn / nodes_a_draw(),
            "SaintSampler: a budget of {} and {} nodes per draw, expected at most {} nodes per subgraph",
            budget, nodes_a_draw(), kMostDrawn);
}

SaintSampler::SaintSampler(Graph graph, const SaintSampling& sampling)
    : graph_(std::move(graph)), sampling_(sampling) {
  ADJ_CHECK(graph_ && !graph_.device().is_cuda() && graph_.num_nodes() > 0,
            "SaintSampler: expected a graph on the CPU with at least one node");
  sampling.check();
  ADJ_CHECK(sampling.method == SaintMethod::walk || graph_.num_edges() > 0,
            "SaintSampler: the graph has no edges to draw {} by",
            sampling.method == SaintMethod::node ? "nodes" : "edges");
  if (sampling.method == SaintMethod::edge) {
    with_in_edges_ = rows_with_entries(graph_.in_edges());
    with_out_edges_ = rows_with_entries(graph_.out_edges());
  }
}

void SaintSampler::draw_node(const RandomKey& draw, int32_t* nodes) const {
  const Csr& in = graph_.in_edges();  // the source of a random edge
  const PhiloxBlock r = philox(draw.seed, 0, draw.stream);
  *nodes = in.indices.data<int32_t>()[detail::scaled(detail::uniform(r), in.entries())];
}

// A uniform node with edges, then one of its edges: 1 / degree. Nodes with in-edges and with out-edges are
// drawn from one list, so both terms have the same factor.
void SaintSampler::draw_edge(const RandomKey& draw, int32_t* nodes) const {
  const PhiloxBlock node = philox(draw.seed, 0, draw.stream), edge = philox(draw.seed, 1, draw.stream);
  const auto ends = std::ssize(with_in_edges_) + std::ssize(with_out_edges_);
  const bool has_in_edges = detail::scaled(detail::uniform(node), ends) < std::ssize(with_in_edges_);
  const std::vector<int32_t>& roots = has_in_edges ? with_in_edges_ : with_out_edges_;
  nodes[0] = roots[static_cast<size_t>(detail::scaled(detail::uniform(node, 1), std::ssize(roots)))];
  nodes[1] = entry_of(has_in_edges ? graph_.in_edges() : graph_.out_edges(), nodes[0], detail::uniform(edge));
}

void SaintSampler::draw_walk(const RandomKey& draw, int32_t* nodes) const {
  const Csr& in = graph_.in_edges();
  const int64_t* rows = in.offsets.data<int64_t>();
  const PhiloxBlock root = philox(draw.seed, 0, draw.stream);
  nodes[0] = detail::scaled(detail::uniform(root), in.rows);
  for (int64_t step = 1; step <= sampling_.walk_length; ++step) {
    const PhiloxBlock r = philox(draw.seed, static_cast<uint64_t>(step), draw.stream);
    const int32_t node = nodes[step - 1];
    nodes[step] = rows[node + 1] > rows[node] ? entry_of(in, node, detail::uniform(r)) : node;  // or stays
  }
}

Tensor SaintSampler::sample_nodes(uint64_t seed) const {
  const SaintMethod method = sampling_.method;
  const auto draw = method == SaintMethod::node   ? &SaintSampler::draw_node
                    : method == SaintMethod::edge ? &SaintSampler::draw_edge
                                                  : &SaintSampler::draw_walk;
  const int64_t each = sampling_.nodes_a_draw();
  std::vector<int32_t> nodes(static_cast<size_t>(sampling_.budget * each));
  parallel_for(sampling_.budget, kDraws, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      (this->*draw)({.seed = seed, .stream = static_cast<uint64_t>(k)}, nodes.data() + k * each);
  });
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return Tensor::from(nodes);
}

SaintNormalization SaintSampler::normalization(int64_t coverage, uint64_t seed) const {
  ADJ_CHECK(coverage >= 1 && coverage <= kMostCoverage, "SaintSampler: a coverage of {}, expected 1 to {}",
            coverage, kMostCoverage);
  const int64_t nodes = graph_.num_nodes(), edges = graph_.num_edges();
  std::vector<int32_t> of_node(static_cast<size_t>(nodes)), of_edge(static_cast<size_t>(edges));
  SaintNormalization norm;
  const uint64_t first = Generator(seed).split(0).seed();
  for (int64_t seen = 0; seen < coverage * nodes; ++norm.samples) {
    const Subgraph part = sample(first + static_cast<uint64_t>(norm.samples));
    const int32_t *node = part.nodes.data<int32_t>(), *edge = part.edges.data<int32_t>();
    for (int64_t k = 0; k < part.nodes.numel(); ++k) ++of_node[static_cast<size_t>(node[k])];
    for (int64_t k = 0; k < part.edges.numel(); ++k) ++of_edge[static_cast<size_t>(edge[k])];
    seen += part.nodes.numel();
  }
  norm.node = Tensor::empty({nodes});
  norm.edge = Tensor::empty({edges});
  float *by_node = norm.node.mutable_data<float>(), *by_edge = norm.edge.mutable_data<float>();
  const auto count = [](int32_t seen) { return static_cast<float>(std::max(seen, 1)); };
  for (int64_t i = 0; i < nodes; ++i)
    by_node[i] = static_cast<float>(norm.samples) / count(of_node[static_cast<size_t>(i)]);
  const Tensor targets = graph_.edge_index().dst;
  const int32_t* target = targets.data<int32_t>();
  for (int64_t e = 0; e < edges; ++e)
    by_edge[e] = count(of_node[static_cast<size_t>(target[e])]) / count(of_edge[static_cast<size_t>(e)]);
  return norm;
}

}  // namespace adj
