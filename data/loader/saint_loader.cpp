#include <adjoint/core/parallel.h>
#include <adjoint/data/detail/batch_data.h>
#include <adjoint/data/loader/saint_loader.h>

namespace adj {

namespace {

constexpr std::string_view kSaintLoader = "saint loader";

/// The entries of the matrix as edges of weight ã_vu / α_uv. An entry without an edge is an added self-loop,
/// with α = 1.
Graph scaled(const Graph& graph, const SparseMatrix& matrix, const Tensor& inverse_alpha) {
  const Csr &edges = graph.in_edges(), &entries = matrix.relation().csr();
  const int64_t *edge_rows = edges.offsets.data<int64_t>(), *rows = entries.offsets.data<int64_t>();
  const int32_t *sources = edges.indices.data<int32_t>(), *columns = entries.indices.data<int32_t>();
  const Tensor &numbers = graph.relation().csr_order(), &order = matrix.relation().csr_order();
  const float* values = matrix.values() ? matrix.values().data<float>() : nullptr;
  const float* factor = inverse_alpha.data<float>();
  Tensor weight = Tensor::empty({entries.entries()});
  float* target = weight.mutable_data<float>();
  parallel_for(entries.rows, 512, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t edge = edge_rows[i];  // both rows ascend
      for (int64_t e = rows[i]; e < rows[i + 1]; ++e) {
        while (edge < edge_rows[i + 1] && sources[edge] < columns[e]) ++edge;
        const bool is_edge = edge < edge_rows[i + 1] && sources[edge] == columns[e];
        const int64_t entry = order ? order.data<int32_t>()[e] : e;
        const float value = values != nullptr ? values[entry] : 1.0f;
        target[entry] =
            is_edge ? value * factor[numbers ? numbers.data<int32_t>()[edge] : static_cast<int32_t>(edge)]
                    : value;
      }
    }
  });
  return Graph(matrix.relation(), std::move(weight)).as_normalized();
}

SaintLoaderOptions checked(SaintLoaderOptions&& options) {
  const LoaderOptions& loading = options.loading;
  ADJ_CHECK(loading.batch_size == 0 && !loading.shuffle && !loading.drop_last,
            "saint loader: subgraphs are drawn, expected neither batch_size nor shuffle nor drop_last");
  ADJ_CHECK(options.coverage >= 0, "saint loader: a coverage of {}, expected 0 or more", options.coverage);
  ADJ_CHECK(options.coverage > 0 || options.matrix == PropagationMatrix::none,
            "saint loader: sums over neighbours are normalised by counting subgraphs, expected a coverage "
            "of 1 or more, got 0");
  return std::move(options);
}

/// Weights of seeds, by node: 1 / (probability S).
Tensor counts_of(const SaintNormalization& norm, int64_t seeds) {
  if (norm.samples == 0) return {};
  Tensor counts = norm.node.clone();
  float* count = counts.mutable_data<float>();
  for (int64_t i = 0; i < counts.numel(); ++i) count[i] /= static_cast<float>(std::max<int64_t>(seeds, 1));
  return counts;
}

// Keys of the seed's generator: 0 the normalisation, 1 + e epoch e.
uint64_t seed_of_normalization(uint64_t seed) { return Generator(seed).split(0).seed(); }
Generator generator_of(uint64_t seed, int64_t epoch) {
  return Generator(seed).split(1 + static_cast<uint64_t>(epoch));
}

}  // namespace

struct SaintLoader::Impl {
  Impl(const Graph& graph, std::shared_ptr<const FeatureStore> x, const Tensor& labels, const Tensor& seeds,
       SaintLoaderOptions&& loader_options)
      : options(checked(std::move(loader_options))),
        sampler(graph.to(Device::cpu()), options.sampling),
        norm(options.coverage > 0
                 ? sampler.normalization(options.coverage, seed_of_normalization(options.loading.seed))
                 : SaintNormalization{}),
        batches(std::string(kSaintLoader), graph, std::move(x), labels, seeds, options.loading,
                counts_of(norm, seeds ? seeds.numel() : 0)),
        whole(options.matrix == PropagationMatrix::none
                  ? sampler.graph()
                  : scaled(sampler.graph(), sampler.graph().matrix(options.matrix), norm.edge)) {
    if (options.loading.steps == 0)
      options.loading.steps =
          ceil_div(sampler.graph().num_nodes(),
                   options.sampling.budget * options.sampling.nodes_a_draw() * options.loading.ranks);
    // Built here once, before workers use it.
    (void)whole.in_edges();
    (void)whole.relation().symmetric();
  }

  SubgraphBatch batch(const BatchIndex& index) const {
    const Generator of_epoch = generator_of(options.loading.seed, index.epoch);
    const auto subgraph = static_cast<uint64_t>(index.number * options.loading.ranks + options.loading.rank);
    return batches.make(whole, sampler.sample_nodes(of_epoch.split(subgraph).seed()));
  }

  SaintLoaderOptions options;
  SaintSampler sampler;
  SaintNormalization norm;
  detail::SubgraphBatches batches;
  Graph whole;  // source of the subgraphs
};

// The single item is the graph.
SaintLoader::SaintLoader(std::shared_ptr<const Impl> impl)
    : Loader({.loader = std::string(kSaintLoader),
              .things = "graphs",
              .items = detail::numbers(1),
              .device = impl->batches.device(),
              .derives = true},
             impl->options.loading, [impl](const BatchIndex& index) { return impl->batch(index); }),
      impl_(impl) {}

SaintLoader::SaintLoader(const Graph& graph, const FeatureInput& x, const Tensor& labels, const Tensor& seeds,
                         SaintLoaderOptions options)
    : SaintLoader(std::make_shared<const Impl>(graph, x, labels, seeds, std::move(options))) {}

SaintLoader::SaintLoader(const Dataset& data, const Tensor& seeds, SaintLoaderOptions options)
    : SaintLoader(data.graph, detail::features_of(kSaintLoader, data, options.loading.device), data.y, seeds,
                  options) {}

const SaintNormalization& SaintLoader::normalization() const { return impl_->norm; }

}  // namespace adj
