#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/sparse_matrix.h>

#include <mutex>
#include <vector>

namespace adj::nn {

/// A^hops x; cached for an x without gradient that stays the same (features without dropout), which is
/// aggregated once for the whole training. Kept once the same tensor is seen twice in a row, so an input that
/// changes at every step (dropout) costs no memory. Thread-safe.
///
/// A layer holds one, so that its callers need no separate precomputed input: training, validation, batches
/// and captured steps make the same call. The cached product cannot be out of date: its key has the storage
/// and version of x and of the matrix's values, which change with every write.
class PropagationCache {
 public:
  Var get(const SparseMatrix& a, const Var& x, int hops = 1);

 private:
  Tensor cached(const SparseMatrix& a, const Tensor& x, int hops);

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
