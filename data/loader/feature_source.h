#pragma once

#include <adjoint/data/features.h>

#include <memory>

namespace adj {

/// Where a loader finds the features of the nodes of a batch, wherever they are kept. What is read depends on
/// the nodes alone.
class FeatureSource {
 public:
  virtual ~FeatureSource() = default;
  /// Nodes that it has features of.
  virtual int64_t rows() const = 0;
  virtual int64_t cols() const = 0;
  virtual bool is_sparse() const = 0;
  /// Row k is that of nodes[k]; `nodes` int32 [K] on any device, the result on `device`. Work on a GPU is
  /// queued on the thread's current stream. Several threads may gather at once. Throws where a node is out of
  /// range (on a GPU: where it was found on the host).
  virtual Features gather(const Tensor& nodes, Device device) const = 0;
};

/// Features in memory. Dense ones are gathered where they are, and copied where a batch is elsewhere. Of
/// sparse ones a copy in the host's memory is taken, and rows are gathered there.
std::shared_ptr<const FeatureSource> make_feature_source(const Features& x);

}  // namespace adj
