#pragma once

#include <adjoint/graph/sparse_matrix.h>

#include <mutex>
#include <vector>

namespace adj::nn {

/// Caches A^hops x for an input without gradient that stays the same (features without dropout): it is
/// aggregated once for the whole training. Kept once the same tensor is seen twice in a row, so an input that
/// changes at every step (dropout) costs no memory. Thread-safe.
class PropagationCache {
 public:
  /// A^hops x.
  Tensor get(const SparseMatrix& a, const Tensor& x, int hops);

 private:
  // Identifies a tensor's contents: differs for any other tensor, and for the same one after a write.
  struct Contents {
    Contents() = default;
    explicit Contents(const Tensor& tensor)
        : storage(tensor.storage_id()),
          version(tensor.version()),
          data(tensor ? tensor.raw_data() : nullptr),
          shape(tensor.shape()) {}
    uint64_t storage = 0, version = 0;
    const void* data = nullptr;
    Shape shape;
    bool operator==(const Contents&) const = default;
  };
  struct Key {
    Relation relation;  // held, so that its address is not reused
    Contents values, x;
    int hops = 0;
    bool operator==(const Key&) const = default;
  };
  std::mutex mutex_;  // guards the members below
  Key last_;
  Tensor kept_;
  std::vector<Tensor> recorded_;  // read by captured steps at every replay, even if no longer cached
};

}  // namespace adj::nn
