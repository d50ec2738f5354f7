#pragma once

#include <adjoint/core/pinned.h>
#include <adjoint/data/features.h>
#include <adjoint/data/file_rows.h>

namespace adj {

/// Where the features of a dataset are while mini-batches of its nodes are trained on.
enum class FeaturePlace : uint8_t {
  device,  ///< all of them on the device that computes
  host,    ///< in the host's memory, page-locked for a GPU, which reads the rows that a batch needs in place
  file,    ///< in their HDF5 file, from which the rows that a batch needs are read
};

/// Rows of node features for mini-batches, on the device that computes, wherever the features are. Rows that
/// are asked for most may be kept on the device (`cached`), so that only the others move. A row has the same
/// bits whatever its place. A cheap handle; threads may gather at once, on any stream.
class FeatureStore {
 public:
  FeatureStore() = default;
  /// `x` [N,F], dense or sparse, which go to `device` or, dense ones, to the host. Sparse ones stay on the
  /// host, and their rows move. Of the place `host`, the `cached` rows with the largest `hotness` (float32
  /// [N]; ties to the smaller row) are on the device too: a node's out-degree says how often it is sampled as
  /// a neighbour. Throws for a place that is not one of features in memory, or `cached` rows without hotness.
  FeatureStore(const Features& x, Device device, FeaturePlace place = FeaturePlace::device,
               int64_t cached = 0, const Tensor& hotness = {});
  /// Features that stay in their file.
  FeatureStore(FileRows x, Device device, int64_t cached = 0, const Tensor& hotness = {});

  explicit operator bool() const { return rows_ > 0; }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  Device device() const { return device_; }
  FeaturePlace place() const { return place_; }
  int64_t cached() const { return hot_ ? hot_.size(0) : 0; }

  /// Row k of the result, which is on the device, is that of nodes[k]; int32 [K] on the device, repeats
  /// allowed. Where features are in a file or sparse, the host waits for the nodes. Throws for a node out of
  /// range (on a GPU not where all rows are in memory).
  Features gather(const Tensor& nodes) const;

 private:
  void keep_hottest(int64_t cached, const Tensor& hotness, Tensor hot);
  Features from_file(const Tensor& nodes) const;

  Device device_;
  FeaturePlace place_ = FeaturePlace::device;
  int64_t rows_ = 0, cols_ = 0;
  Features all_;  // of the place device, and sparse ones on the host
  PinnedRows pinned_;
  FileRows file_;
  Tensor hot_;     // [C, F] on the device
  Tensor places_;  // int32 [N] on the device, or for a file on the host: the row of hot_, or -1 - node
};

}  // namespace adj
