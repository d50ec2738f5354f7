#pragma once

#include <adjoint/graph/sparse_matrix.h>
#include <adjoint/nn/conv/structure.h>

#include <mutex>
#include <vector>

namespace adj::nn {

/// A^hops x.
Var propagate(const SparseMatrix& a, Var x, int hops);

/// A^hops x, kept for an x without gradient that stays the same (features without dropout), so that it is
/// aggregated once for the whole training:
///
///     nn::PropagationCache cache;  // one per first layer, next to it
///     Var h = conv1(graph, cache.constant(x));
///
/// SGConv uses it, and GCNConv, SAGEConv, GraphConv and GINConv if they aggregate before their linear map;
/// other layers ignore it. The product is kept when the same tensor is seen twice in a row, so an input that
/// changes in every step (dropout) costs no memory. It cannot be out of date: its key has the storage and
/// version of x and of the matrix's values, which change with every write. Thread-safe. The cache must
/// outlive the Sides of constant() and every captured step that used them: a replay reads the product.
class PropagationCache {
 public:
  /// x for a layer that may keep its product in this cache.
  Sides constant(Sides x);
  /// A^hops x, from the cache or computed.
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
    uint64_t storage = 0, version = 0;  ///< Tensor::storage_id() and version()
    const void* data = nullptr;         ///< first number: views share a storage
    Shape shape;                        ///< of the tensor
    bool operator==(const Contents&) const = default;
  };
  struct Key {
    Relation relation;   ///< held, so that its address is not reused
    Contents values, x;  ///< the matrix's values, absent if all 1, and x
    int hops = 0;        ///< power of the matrix
    bool operator==(const Key&) const = default;
  };
  std::mutex mutex_;  // guards the members below
  Key last_;
  Tensor kept_;
  std::vector<Tensor> recorded_;  // read by captured steps at every replay, even if no longer cached
};

}  // namespace adj::nn
