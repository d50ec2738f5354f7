// Mini-batches: sampling only, and sampling with feature gathers.

#include "operands.h"
#include <adjoint/adjoint.h>

namespace adj::apps {

namespace {

/// Training nodes in random order, as many whole batches as a call uses. Each call creates and destroys its
/// Prefetcher, so workers are idle between calls.
class Seeds {
 public:
  explicit Seeds(const Subject& s) : size_(s.batch_size) {
    constexpr int64_t kBatches = 50;
    const int64_t count = s.data.train ? s.data.train.numel() : 0;
    if (count < size_)
      usage_fail("--batch-size: expected at most {}, the nodes to train on, got {}", count, size_);
    if (s.sampling.weighted && !s.graph().edge_weight())
      usage_fail("--sampling weighted: {} has no edge weights", printable(s.data.name));
    Generator generator(1);
    const Tensor order = random_permutation(count, generator, s.device());
    const int64_t batches = std::min(count / size_, kBatches);
    seeds_ = detail::gather_edges(s.data.train, order.rows(0, batches * size_));
  }
  const Tensor& all() const { return seeds_; }
  int64_t batches() const { return seeds_.numel() / size_; }
  Tensor batch(int64_t i) const { return seeds_.rows(i * size_, (i + 1) * size_); }

 private:
  int64_t size_;
  Tensor seeds_;
};

/// Size of a call's samples.
struct Size {
  double targets = 0.0, edges = 0.0, nodes = 0.0;

  void add(const std::vector<Block>& blocks) {
    for (const Block& block : blocks) {
      targets += static_cast<double>(block.num_dst());
      edges += static_cast<double>(block.num_edges());
    }
    nodes += static_cast<double>(blocks.front().num_src());
  }
};

std::string shape_of(const Subject& s, const Seeds& seeds, const Size& size) {
  return fmt::format("{} x {} seeds, {:.0f} nodes", seeds.batches(), s.batch_size, size.nodes);
}

/// Per target bounds and offset; per edge its column (read) and the numbers of source and edge (written); per
/// node its table entry and id.
double bytes_of_sampling(const Size& size) {
  return size.targets * 24.0 + size.edges * 12.0 + size.nodes * 8.0;
}

Job sample(const Subject& s) {
  const Seeds seeds(s);
  const NeighborSampler sampler(s.graph(), s.sampling);
  Size size;
  for (int64_t i = 0; i < seeds.batches(); ++i)
    size.add(sampler.sample(seeds.batch(i), static_cast<uint64_t>(i)));
  const PrefetchOptions options{.workers = s.workers, .streams = worker_streams(s.device(), s.workers)};
  Job job{shape_of(s, seeds, size), bytes_of_sampling(size), 0.0, [=] {
            Prefetcher<std::vector<Block>> batches(
                seeds.batches(),
                [=](int64_t i) { return sampler.sample(seeds.batch(i), static_cast<uint64_t>(i)); }, options);
            while (batches.next()) continue;
          }};
  job.edges = size.edges;
  return job;
}

Job neighbor_batch(const Subject& s) {
  ADJ_CHECK(s.data.x, "mini-batches: {} has no features", s.data.name);
  const Seeds seeds(s);
  const NeighborLoader loader(
      s.data, seeds.all(),
      {.sampling = s.sampling,
       .loading = {.batch_size = s.batch_size, .backward = false, .workers = s.workers}});
  Size size;
  for (int64_t i = 0; i < loader.size(); ++i) size.add(loader.batch(0, i).blocks);
  Job job{shape_of(s, seeds, size),
          bytes_of_sampling(size) + 2.0 * size.nodes * static_cast<double>(s.data.num_features()) * 4.0, 0.0,
          [loader] {
            Prefetcher<NeighborBatch> batches = loader.epoch(0);
            while (batches.next()) continue;
          }};
  job.edges = size.edges;
  return job;
}

}  // namespace

std::vector<Op> sample_ops() {
  return {{"sample", "neighbourhoods of --batch-size nodes, with NeighborSampler and --workers", sample},
          {"neighbor_batch", "the same with features and labels, with NeighborLoader", neighbor_batch}};
}

}  // namespace adj::apps
