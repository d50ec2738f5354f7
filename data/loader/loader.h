#pragma once

#include <adjoint/core/random.h>
#include <adjoint/data/loader/prefetch.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace adj {

class Block;
class Graph;

/// Options of all loaders: batches, prefetching, device and derived structures.
struct LoaderOptions {
  int64_t batch_size = 0;  ///< seeds, pairs, graphs or parts per batch; 0: the loader's default
  /// 0: an epoch visits all items once. Else the number of batches of an epoch, each of batch_size distinct
  /// items (or all) drawn for it: the iterations of Xu et al. (2019).
  int64_t steps = 0;
  bool shuffle = false;    ///< a new order of items in each epoch
  bool drop_last = false;  ///< drop a smaller last batch
  uint64_t seed = 0;       ///< of order, draws and samples
  bool backward = true;    ///< workers also build what backward passes need (Relation::transposed)
  int workers = 0;         ///< threads that prefetch batches; 0: the iterating thread
  int64_t depth = 0;       ///< maximum number of batches in preparation or waiting; 0: two per worker
  std::optional<Device> device = {};  ///< of the batches; absent: the graph's
  /// Each of `ranks` ranks gets its share of the items of every batch, maybe none; a SaintLoader's draws a
  /// subgraph of its own.
  int64_t rank = 0, ranks = 1;
  /// For loaders whose batches have one graph, instead of `backward`: structures that workers derive on the
  /// CPU, as `[](const Graph& graph) { (void)graph.gcn_adjacency(); }`. They are copied with the graph.
  std::function<void(const Graph&)> derive = {};
  /// For loaders whose batches have blocks: what else workers derive from each, on the batches' device.
  std::function<void(const Block&)> derive_block = {};
};

/// A batch of an epoch: its number, items and generator.
struct BatchIndex {
  int64_t epoch = 0, number = 0;
  Tensor items;     ///< int32 [B]: some of LoaderItems::items, on their device
  Generator draws;  ///< depends only on (seed, epoch, number)
};

/// Items of a loader's epochs.
struct LoaderItems {
  std::string loader;      ///< name, the prefix of errors
  std::string things;      ///< name of the items, for errors
  Tensor items;            ///< int32 [K]
  Device device;           ///< default device of the batches
  int64_t batch_size = 1;  ///< default
  bool even = false;       ///< whether items are distributed evenly over the batches
  bool derives = false;    ///< whether LoaderOptions::derive is supported
};

namespace detail {

/// Number, order and generators of the batches of a loader's epochs.
class Epochs {
 public:
  Epochs(LoaderItems items, LoaderOptions options);

  int64_t size() const;
  int64_t num_items() const { return spec_.items.numel(); }
  const LoaderOptions& options() const { return options_; }
  /// The items in the order of epoch `e` >= 0.
  Tensor order(int64_t e) const;
  BatchIndex index(const Tensor& ordered, int64_t e, int64_t i) const;
  PrefetchOptions prefetching() const;

 private:
  LoaderItems spec_;
  LoaderOptions options_;
  std::vector<Stream> streams_;
};

}  // namespace detail

/// Mini-batches, each a function of its index:
///
///   Loader<Batch> loader({.loader = "my loader", .things = "nodes", .items = nodes}, {.workers = 2},
///                        [=](const BatchIndex& of) { return make(of.items); });
///   for (int64_t epoch = 0; epoch < 20; ++epoch)
///     for (const Batch& batch : loader.epoch(epoch)) …
///
/// The batches of epoch e are bit-identical for any number of workers and threads and any earlier epochs: the
/// order depends on (seed, e), the draws of batch i on (seed, e, i). So a resumed training gets the same
/// batches. A cheap handle; epochs may be iterated concurrently. The function is called concurrently by
/// workers, each on its own stream.
template <class Batch>
class Loader {
 public:
  using Make = std::function<Batch(const BatchIndex&)>;  ///< makes a batch; thread-safe
  /// Throws for options out of range, if drop_last leaves no batch, and for drop_last with even batches.
  Loader(LoaderItems items, LoaderOptions options, Make make)
      : epochs_(std::make_shared<const detail::Epochs>(std::move(items), std::move(options))),
        make_(std::move(make)) {}

  /// Number of batches per epoch.
  int64_t size() const { return epochs_->size(); }
  /// Number of items that an epoch visits or draws from.
  int64_t num_items() const { return epochs_->num_items(); }
  /// With defaults replaced by the actual batch size and device.
  const LoaderOptions& options() const { return epochs_->options(); }

  /// Epoch `e` >= 0; prefetching starts now.
  Prefetcher<Batch> epoch(int64_t e) const {
    const auto one = [epochs = epochs_, make = make_, ordered = epochs_->order(e), e](int64_t i) {
      return make(epochs->index(ordered, e, i));
    };
    return {size(), one, epochs_->prefetching()};
  }
  /// Batch `i` of epoch `e`, computed by the calling thread.
  Batch batch(int64_t e, int64_t i) const { return make_(epochs_->index(epochs_->order(e), e, i)); }

 private:
  std::shared_ptr<const detail::Epochs> epochs_;
  Make make_;
};

}  // namespace adj
