#pragma once

#include <adjoint/data/file_rows.h>
#include <adjoint/graph/features.h>

#include <concepts>
#include <memory>
#include <utility>

namespace adj {

class Group;

/// Source of the features of a batch's nodes. The result depends only on the nodes.
class FeatureStore {
 public:
  virtual ~FeatureStore() = default;
  /// Number of nodes.
  virtual int64_t rows() const = 0;
  virtual int64_t cols() const = 0;    ///< number of features
  virtual bool is_sparse() const = 0;  ///< whether gather() gives sparse ones
  /// Device on which gather() reads `nodes`. Loaders have them there and on the CPU, so no copy is needed.
  virtual Device reads_nodes_on() const { return Device::cpu(); }
  /// Row k has the features of nodes[k]; `nodes` int32 [K] on any device, the result on `device`. Work on a
  /// GPU is queued on the thread's current stream. Thread-safe. Throws for a node out of range (on a GPU: if
  /// the host detects it). Loaders throw unless it returns K rows on `device`.
  virtual Features gather(const Tensor& nodes, Device device) const = 0;
};

/// Features in memory. Dense and quantised ones are gathered on their device, and the rows copied to the
/// batch's device. Sparse ones are copied to host memory and gathered there, and nodes of several types
/// sorted there.
std::shared_ptr<const FeatureStore> make_feature_store(const Features& x);

/// Features of a joint graph whose types have a store each, with as many rows as `rows` counts; null for a
/// type whose rows are in `rows`, or that has none. Throws adj::Error for other numbers, and sparse ones.
std::shared_ptr<const FeatureStore> make_typed_store(const TypedFeatures& rows,
                                                     std::vector<std::shared_ptr<const FeatureStore>> stores);

/// Argument of loaders: features in memory, or any store.
class FeatureInput {
 public:
  FeatureInput(const Features& x) : store_(make_feature_store(x)) {}
  template <std::derived_from<FeatureStore> Store>
  FeatureInput(std::shared_ptr<Store> store) : store_(std::move(store)) {}
  operator const std::shared_ptr<const FeatureStore>&() const { return store_; }

 private:
  std::shared_ptr<const FeatureStore> store_;
};

/// Cache of hot rows on the device.
struct CachedRows {
  int64_t count = 0;  ///< number of rows; 0: no cache
  /// float32 [N]: the rows with the largest values are cached, ties to the smaller row. For sampled
  /// neighbours this is the out-degree. Optional if `count` is 0.
  Tensor hotness = {};
};

// Rows are bit-identical, cached or not. Both stores gather for `device` only, and throw adj::Error if
// `cached` does not match the features.

/// A copy of dense or quantised `x` [N,F] in host memory, for features larger than the GPU's memory: pinned
/// if `device` is a GPU, whose kernels read the rows of a batch over the bus. Throws OutOfMemory.
std::shared_ptr<const FeatureStore> make_pinned_store(const Features& x, Device device,
                                                      const CachedRows& cached = {});
std::shared_ptr<const FeatureStore> make_pinned_store(const Tensor& x, Device device,
                                                      const CachedRows& cached = {});
/// Features that stay in their HDF5 file, for features larger than host memory; the rows of a batch are read.
/// The host waits for the nodes. Throws DataError if the file cannot be read.
std::shared_ptr<const FeatureStore> make_file_store(FileRows x, Device device, const CachedRows& cached = {});

/// Features for more than one GPU's memory: each rank of `group` keeps its own rows on its device, where
/// kernels of all others read them in place; those of rank p follow those of rank p - 1. `rows`: this rank's,
/// dense or quantised, in all ranks alike; there may be none. All ranks, threads of one process, make theirs
/// together; the rows live as long as any of these stores. Gathers for the rank's device only. Throws Error
/// if a device cannot read another's memory, or for other features.
std::shared_ptr<const FeatureStore> make_split_store(const Features& rows, const Group& group);

}  // namespace adj
