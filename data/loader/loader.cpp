#include <adjoint/core/parallel.h>
#include <adjoint/data/loader/loader.h>
#include <adjoint/graph/edge_attributes.h>

#include <algorithm>

namespace adj::detail {

Epochs::Epochs(LoaderItems items, LoaderOptions options)
    : spec_(std::move(items)), options_(std::move(options)) {
  LoaderOptions& o = options_;
  const std::string& loader = spec_.loader;
  const int64_t count = num_items();
  ADJ_CHECK(o.batch_size >= 0 && o.steps >= 0,
            "{}: a batch size of {} and {} steps, expected 0 or more of each", loader, o.batch_size, o.steps);
  ADJ_CHECK(o.workers >= 0 && o.workers <= kMaxThreads && o.depth >= 0,
            "{}: {} workers and a depth of {}, expected 0 to {} and 0 or more", loader, o.workers, o.depth,
            kMaxThreads);
  ADJ_CHECK(o.ranks >= 1 && o.rank >= 0 && o.rank < o.ranks, "{}: rank {} of {}, expected 0 or more below it",
            loader, o.rank, o.ranks);
  ADJ_CHECK(!o.derive || spec_.derives,
            "{}: its batches have blocks, expected no structures derived from a graph", loader);
  ADJ_CHECK(!o.drop_last || !spec_.even, "{}: {} are spread evenly over batches, expected drop_last = false",
            loader, spec_.things);
  if (o.batch_size == 0) o.batch_size = spec_.batch_size;
  if (!o.device) o.device = spec_.device;
  ADJ_CHECK(!o.drop_last || count == 0 || count >= o.batch_size || o.steps > 0,
            "{}: without the last batch nothing is left of {} {} in batches of {}", loader, count,
            spec_.things, o.batch_size);
  streams_ = worker_streams(*o.device, o.workers);
}

int64_t Epochs::size() const {
  const int64_t count = num_items(), size = options_.batch_size;
  if (options_.steps > 0) return count > 0 ? options_.steps : 0;
  // Not ceil_div(): count + size may overflow.
  return count / size + (options_.drop_last || count % size == 0 ? 0 : 1);
}

// Keys of an epoch's generator: 0 the order, 1 + i batch i. With even batches the generator itself draws the
// order.
Tensor Epochs::order(int64_t e) const {
  ADJ_CHECK(e >= 0, "{}: epoch {}, expected 0 or more", spec_.loader, e);
  if (!options_.shuffle || options_.steps > 0) return spec_.items;
  const Generator of_epoch = Generator(options_.seed).split(static_cast<uint64_t>(e));
  Generator draws = spec_.even ? of_epoch : of_epoch.split(0);
  return gather_edges(spec_.items, random_permutation(num_items(), draws, spec_.items.device()));
}

BatchIndex Epochs::index(const Tensor& ordered, int64_t e, int64_t i) const {
  ADJ_CHECK(i >= 0 && i < size(), "{}: batch {}, expected 0 to {}", spec_.loader, i, size() - 1);
  const Generator of_epoch = Generator(options_.seed).split(static_cast<uint64_t>(e));
  BatchIndex index{e, i, {}, of_epoch.split(1 + static_cast<uint64_t>(i))};
  const int64_t count = num_items(), begin = i * options_.batch_size;
  if (options_.steps > 0) {
    Generator draws = index.draws;
    const Tensor drawn = random_permutation(count, draws, ordered.device());
    index.items = gather_edges(ordered, drawn.rows(0, std::min(options_.batch_size, count)));
  } else if (spec_.even) {
    index.items = ordered.rows(i * count / size(), (i + 1) * count / size()).clone();
  } else {
    index.items = ordered.rows(begin, begin + std::min(options_.batch_size, count - begin)).clone();
  }
  if (options_.ranks > 1) {
    const int64_t all = index.items.numel();
    const auto first = [&](int64_t rank) { return rank * all / options_.ranks; };
    index.items = index.items.rows(first(options_.rank), first(options_.rank + 1)).clone();
  }
  return index;
}

PrefetchOptions Epochs::prefetching() const {
  return {.workers = options_.workers, .depth = options_.depth, .streams = streams_};
}

}  // namespace adj::detail
