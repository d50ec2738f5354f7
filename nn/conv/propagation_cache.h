#pragma once

#include <adjoint/graph/sparse_matrix.h>

#include <mutex>
#include <vector>

namespace adj::nn {

/// A^hops x for an input that takes no gradient and comes again unchanged (features without dropout):
/// aggregated once for the whole training. It is kept from the second time in a row that the same tensor is
/// seen, so an input that is new at every step (dropout) costs no memory. Threads may ask at once.
class PropagationCache {
 public:
  /// A^hops x.
  Tensor get(const SparseMatrix& a, const Tensor& x, int hops);

 private:
  // What a tensor holds now: no other tensor, and not this one after a write, compares equal.
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
    Relation relation;  // held, so that no other one can come to stand at its address
    Contents values, x;
    int hops = 0;
    bool operator==(const Key&) const = default;
  };
  std::mutex mutex_;  // guards what follows
  Key last_;
  Tensor kept_;
  std::vector<Tensor> recorded_;  // read by recorded steps at every replay, whatever is kept by then
};

}  // namespace adj::nn
