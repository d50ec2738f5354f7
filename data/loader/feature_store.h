#pragma once

#include <adjoint/data/file_rows.h>
#include <adjoint/graph/features.h>

#include <concepts>
#include <memory>
#include <utility>

namespace adj {

/// Where a loader finds the features of the nodes of a batch, wherever they are kept. What is read depends on
/// the nodes alone.
class FeatureStore {
 public:
  virtual ~FeatureStore() = default;
  /// Nodes that it has features of.
  virtual int64_t rows() const = 0;
  virtual int64_t cols() const = 0;
  virtual bool is_sparse() const = 0;
  /// Where nodes are wanted, by loaders that have them there and on the CPU: on the device that looks them
  /// up, so that no copy is made, and nobody waits for one.
  virtual Device reads_nodes_on() const { return Device::cpu(); }
  /// Row k is that of nodes[k]; `nodes` int32 [K] on any device, the result on `device`. Work on a GPU is
  /// queued on the thread's current stream. Several threads may gather at once. Throws where a node is out of
  /// range (on a GPU: where it was found on the host). Loaders throw where it gives other than K rows, or on
  /// another device.
  virtual Features gather(const Tensor& nodes, Device device) const = 0;
};

/// Features in memory. Dense and quantised ones are gathered where they are, and copied where a batch is
/// elsewhere. Of sparse ones a copy in the host's memory is taken, and rows are gathered there.
std::shared_ptr<const FeatureStore> make_feature_store(const Features& x);

/// What loaders take: features in memory, or a store of any kind.
class FeatureSource {
 public:
  FeatureSource(const Features& x) : store_(make_feature_store(x)) {}
  template <std::derived_from<FeatureStore> Store>
  FeatureSource(std::shared_ptr<Store> store) : store_(std::move(store)) {}
  operator const std::shared_ptr<const FeatureStore>&() const { return store_; }

 private:
  std::shared_ptr<const FeatureStore> store_;
};

/// Rows that are asked for most, which are kept on the device that computes, so that only the others move.
struct CachedRows {
  int64_t count = 0;
  /// float32 [N], of whose largest values the rows are kept, ties to the smaller row: how often a node is
  /// sampled as a neighbour goes by its out-degree. May be absent where nothing is kept.
  Tensor hotness = {};
};

// A row has the same bits whatever its place, kept or not. Both gather for `device` alone, and throw
// adj::Error where `cached` does not fit the features.

/// A copy of dense or quantised `x` [N,F] in the host's memory, page-locked where `device` is a GPU, whose
/// kernels read the rows of a batch in place, over its bus: features larger than its memory. Throws
/// OutOfMemory.
std::shared_ptr<const FeatureStore> make_pinned_store(const Features& x, Device device,
                                                      const CachedRows& cached = {});
std::shared_ptr<const FeatureStore> make_pinned_store(const Tensor& x, Device device,
                                                      const CachedRows& cached = {});
/// Features that stay in their HDF5 file, of which the rows of a batch are read: larger than the host's
/// memory. The host waits for the nodes. Throws DataError where the file cannot be read.
std::shared_ptr<const FeatureStore> make_file_source(FileRows x, Device device,
                                                     const CachedRows& cached = {});

}  // namespace adj
