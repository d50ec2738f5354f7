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

class Graph;

/// What all loaders have in common: which batches an epoch has, who makes them, and what comes with them.
struct LoaderOptions {
  int64_t batch_size = 0;  ///< seeds, pairs, graphs or parts of a batch; 0: the loader's own default
  /// 0: an epoch goes over all items once. Else it has so many batches, each of batch_size different items
  /// (all, where there are fewer) drawn anew: the iterations of Xu et al. (2019).
  int64_t steps = 0;
  bool shuffle = false;    ///< items in another order in each epoch
  bool drop_last = false;  ///< without the last batch, where it is smaller
  uint64_t seed = 0;       ///< of order, draws and samples
  /// Structures come with what backward passes need of them beside (Relation::transposed): workers make it.
  bool backward = true;
  int workers = 0;                    ///< threads that prepare batches ahead; 0: whoever iterates does
  int64_t depth = 0;                  ///< batches that are prepared or wait, at most; 0: two a worker
  std::optional<Device> device = {};  ///< of the batches; absent: the graph's
  /// Of loaders whose batches have one graph: what else workers ask of it, so that the step finds it made, as
  /// `[](const Graph& graph) { (void)graph.gcn_adjacency(); }`. They ask on the CPU, and what was made goes
  /// to the device with the graph. Instead of `backward`.
  std::function<void(const Graph&)> derive = {};
};

/// Which batch it is, and what is in it.
struct BatchIndex {
  int64_t epoch = 0, number = 0;
  Tensor items;     ///< int32 [B]: some of LoaderItems::items, on their device
  Generator draws;  ///< of the batch: depends on (seed, epoch, number) alone
};

/// What the epochs of a loader go over.
struct LoaderItems {
  std::string loader;      ///< its name, with which errors begin
  std::string things;      ///< what the items are, for errors
  Tensor items;            ///< int32 [K]
  Device device;           ///< of the batches, where options name none
  int64_t batch_size = 1;  ///< likewise
  bool even = false;       ///< are items dealt to batches as evenly as can be?
  bool derives = false;    ///< does it do what LoaderOptions::derive says?
};

namespace detail {

/// The epochs of a loader but for the batches themselves: their number, order and draws.
class Epochs {
 public:
  Epochs(LoaderItems items, LoaderOptions options);

  int64_t size() const;
  int64_t num_items() const { return of_.items.numel(); }
  const LoaderOptions& options() const { return options_; }
  /// The items as epoch `e` >= 0 takes them.
  Tensor order(int64_t e) const;
  BatchIndex index(const Tensor& ordered, int64_t e, int64_t i) const;
  PrefetchOptions prefetching() const;

 private:
  LoaderItems of_;
  LoaderOptions options_;
  std::vector<Stream> streams_;
};

}  // namespace detail

/// Mini-batches that a function makes of their index alone:
///
///   Loader<Batch> loader({.loader = "my loader", .things = "nodes", .items = nodes}, {.workers = 2},
///                        [=](const BatchIndex& of) { return make(of.items); });
///   for (int64_t epoch = 0; epoch < 20; ++epoch)
///     for (const Batch& batch : loader.epoch(epoch)) …
///
/// Epoch e has the same batches to the bit, whatever the number of workers and threads and whichever epochs
/// came before: its order depends on (seed, e), the draws of batch i on (seed, e, i). A training that is
/// resumed goes on with the batches that it would have had. A cheap handle; the epochs of one may be iterated
/// at the same time, several workers call the function at once, each on a stream of its own.
template <class Batch>
class Loader {
 public:
  using Make = std::function<Batch(const BatchIndex&)>;
  /// Throws where options are out of range, drop_last would leave nothing, or there is no last batch to drop
  /// as items are dealt evenly.
  Loader(LoaderItems items, LoaderOptions options, Make make)
      : epochs_(std::make_shared<const detail::Epochs>(std::move(items), std::move(options))),
        make_(std::move(make)) {}

  /// Batches an epoch.
  int64_t size() const { return epochs_->size(); }
  /// That an epoch goes over, or draws from.
  int64_t num_items() const { return epochs_->num_items(); }
  /// With the batch size and the device that batches have.
  const LoaderOptions& options() const { return epochs_->options(); }

  /// Epoch `e` >= 0, of which batches are prepared from now on.
  Prefetcher<Batch> epoch(int64_t e) const {
    const auto one = [epochs = epochs_, make = make_, ordered = epochs_->order(e), e](int64_t i) {
      return make(epochs->index(ordered, e, i));
    };
    return {size(), one, epochs_->prefetching()};
  }
  /// Batch `i` of epoch `e`, made by the caller.
  Batch batch(int64_t e, int64_t i) const { return make_(epochs_->index(epochs_->order(e), e, i)); }

 private:
  std::shared_ptr<const detail::Epochs> epochs_;
  Make make_;
};

}  // namespace adj
