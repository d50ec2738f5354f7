#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/block.h>
#include <adjoint/graph/features.h>
#include <adjoint/graph/graph.h>
#include <adjoint/graph/sparse_matrix.h>

#include <memory>
#include <mutex>
#include <vector>

namespace adj::nn {

/// Feature widths of sources and targets: one number if both are the same nodes, two for a relation between
/// different nodes.
struct Widths {
  int64_t src, dst;  ///< numbers of features
  bool one_set;      ///< one number was given
  Widths(int64_t both) : src(both), dst(both), one_set(true) {}
  Widths(int64_t sources, int64_t targets) : src(sources), dst(targets), one_set(false) {}
  bool positive() const { return src > 0 && dst > 0; }  ///< both are
};

class Module;
class PropagationCache;

/// Input structure of a layer: a reference to a graph, a relation or a sampled block.
class Structure {
 public:
  Structure(const Graph& graph) : relation_(&graph.relation()), graph_(&graph) {}
  Structure(const Relation& relation) : relation_(&relation) {}
  Structure(const Block& block) : relation_(&block.relation()), block_(&block) {}
  const Relation& relation() const { return *relation_; }
  /// Null for a relation or block.
  const Graph* graph() const { return graph_; }
  /// Weights float32 [M] and attributes [M] or [M,E] of the edges of a graph or block, by edge number; absent
  /// if it has none, and for a relation.
  const Tensor& edge_weight() const;
  const EdgeAttributes& edge_attributes() const;  ///< likewise, by name
  /// For layers of several hops: throws unless sources and targets are one set of nodes.
  void check_one_set(const char* layer) const;

 private:
  const Relation* relation_;
  const Graph* graph_ = nullptr;
  const Block* block_ = nullptr;
};

/// Input features of a layer: one x, or {x_src, x_dst} for separate sources and targets. One x has a row per
/// node of a graph, or per source of a relation or block, which lists its targets first among its sources.
/// x_dst may be absent if the layer documents it. An x from PropagationCache::constant is aggregated once.
///
/// Sparse and quantised features on a graph stay so in a layer that multiplies them first (compact()).
/// Elsewhere they are made dense, in the dtype of the layer's parameters. Dense ones are used unchanged.
struct Sides {
  Var src, dst;  ///< one x: only src; of sparse or quantised features neither

  Sides(Var x) : src(std::move(x)), one_(true) {}
  Sides(const Tensor& x) : Sides(Var(x)) {}
  Sides(const Features& x);
  Sides(const SparseMatrix& x) : Sides(Features(x)) {}
  Sides(Var x_src, Var x_dst) : src(std::move(x_src)), dst(std::move(x_dst)) {}

  /// Sparse or quantised features of a graph's nodes; null for other features and structures. Throws, naming
  /// the layer, if the number of rows does not match.
  const Features* compact(const char* layer, const Structure& structure) const;
  /// Sparse and quantised features made dense, in the dtype of the layer's parameters; others unchanged.
  Sides dense(const Module& layer) const;
  /// Rows of sources and targets on that structure. From one x the targets' rows are narrowed, or x itself is
  /// used if they are all rows. Sparse and quantised features become float32. Throws, naming the layer, if
  /// the number of rows does not match, or x_dst is absent and `needs_dst`.
  Sides match(const char* layer, const Structure& structure, bool needs_dst = false) const;
  /// Likewise of the sources only, for layers whose targets are among the sources.
  Sides of_sources(const char* layer, const Structure& structure) const;
  /// Of match(): whether the targets' rows are the first of the sources', as of one x.
  bool targets_first() const { return targets_first_; }
  /// Whether sources and targets share the same features.
  bool same() const { return src.id() == dst.id(); }
  /// A^hops of the sources' features; from the cache, if there is one.
  Var propagated(const SparseMatrix& a, int hops = 1) const;
  bool has_cache() const { return cache_ != nullptr; }  ///< of PropagationCache::constant()

 private:
  friend class PropagationCache;
  void check_sources(const char* layer, const Structure& structure, const Shape& features) const;

  bool one_ = false, targets_first_ = false;
  std::shared_ptr<const Features> features_;  // sparse or quantised, in place of src
  PropagationCache* cache_ = nullptr;
};

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
