// Mini-batches: sampling alone, and with the features of what was sampled.

#include "../common.h"
#include "operands.h"
#include <adjoint/data/loader/neighbor_loader.h>

namespace adj::apps {

namespace {

constexpr int64_t kCounted = 16;  // batches whose mean size stands for all

/// Seeds of batch after batch, over and over: the training nodes in random order.
class Seeds {
 public:
  explicit Seeds(const Subject& s) : size_(s.batch_size) {
    const int64_t count = s.data.train ? s.data.train.numel() : 0;
    if (count < size_)
      throw UsageError(
          fmt::format("--batch-size: expected at most {}, the nodes to train on, got {}", count, size_));
    if (s.sampling.weighted && !s.graph().edge_weight())
      throw UsageError(fmt::format("--sampling weighted: {} has no edge weights", printable(s.data.name)));
    Generator generator(1);
    const Tensor order = random_permutation(s.data.train.numel(), generator, s.device());
    seeds_ = detail::gather_edges(s.data.train, order);
  }
  Tensor batch(int64_t i) const {
    const int64_t at = i % (seeds_.numel() / size_) * size_;
    return seeds_.rows(at, at + size_);
  }

 private:
  int64_t size_;
  Tensor seeds_;
};

/// Of a batch, or a mean of several.
struct Size {
  double targets = 0.0, edges = 0.0, nodes = 0.0;
};

Size mean_size(const NeighborSampler& sampler, const Seeds& seeds) {
  Size sum;
  for (int64_t i = 0; i < kCounted; ++i) {
    const std::vector<Block> blocks = sampler.sample(seeds.batch(i), static_cast<uint64_t>(i));
    for (const Block& block : blocks) {
      sum.targets += static_cast<double>(block.num_dst()) / kCounted;
      sum.edges += static_cast<double>(block.num_edges()) / kCounted;
    }
    sum.nodes += static_cast<double>(blocks.front().num_src()) / kCounted;
  }
  return sum;
}

std::string shape_of(const Subject& s, const Size& size) {
  return fmt::format("{} seeds, {:.0f} nodes", s.batch_size, size.nodes);
}

/// Bounds and offset of each target; of each edge its column read, and numbers of source and edge written; of
/// each node its place in the table and its id.
double bytes_of_sampling(const Size& size) {
  return size.targets * 24.0 + size.edges * 12.0 + size.nodes * 8.0;
}

Job sample(const Subject& s) {
  const Seeds seeds(s);
  const NeighborSampler sampler(s.graph(), s.sampling);
  const Size size = mean_size(sampler, seeds);
  Job job{shape_of(s, size), bytes_of_sampling(size), 0.0, [=, i = int64_t{0}]() mutable {
            (void)sampler.sample(seeds.batch(i), static_cast<uint64_t>(i));
            ++i;
          }};
  job.edges = size.edges;
  return job;
}

Job neighbor_batch(const Subject& s) {
  ADJ_CHECK(s.data.x, "mini-batches: {} has no features", s.data.name);
  const Seeds seeds(s);
  const Size size = mean_size(NeighborSampler(s.graph(), s.sampling), seeds);
  auto loader = std::make_shared<const NeighborLoader>(s.data, s.data.train,
                                                       NeighborLoaderOptions{.sampling = s.sampling,
                                                                             .batch_size = s.batch_size,
                                                                             .shuffle = true,
                                                                             .drop_last = true,
                                                                             .backward = false,
                                                                             .workers = s.workers});
  struct State {
    int64_t epoch = 0;
    std::unique_ptr<Prefetcher<NeighborBatch>> batches;
  };
  auto state = std::make_shared<State>();
  Job job{shape_of(s, size),
          bytes_of_sampling(size) + 2.0 * size.nodes * static_cast<double>(s.data.num_features()) * 4.0, 0.0,
          [loader, state] {
            std::optional<NeighborBatch> batch;
            if (state->batches) batch = state->batches->next();
            if (batch) return;
            state->batches.reset(
                new Prefetcher<NeighborBatch>(loader->epoch(state->epoch++)));  // which does not move
            (void)state->batches->next();
          }};
  job.edges = size.edges;
  return job;
}

}  // namespace

std::vector<Op> sample_ops() {
  return {{"sample", "the neighbourhoods of --batch-size nodes, by NeighborSampler", sample},
          {"neighbor_batch", "likewise with features and labels, by NeighborLoader and its --workers",
           neighbor_batch}};
}

}  // namespace adj::apps
