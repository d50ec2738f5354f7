#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/features.h>
#include <adjoint/graph/graph.h>

#include <mutex>
#include <vector>

namespace adj::nn {

/// Throws unless features of this shape have a row for every node of the graph.
inline void check_rows(const char* layer, const Graph& graph, const Shape& features) {
  ADJ_CHECK(features.dims() == 2 && features[0] == graph.num_nodes(),
            "{}: features {} for a graph of {} nodes", layer, features.str(), graph.num_nodes());
}

inline void check_rows(const char* layer, const Graph& graph, const Var& x) {
  check_rows(layer, graph, x.shape());
}
inline void check_rows(const char* layer, const Graph& graph, const Features& x) {
  check_rows(layer, graph, Shape{x.rows(), x.cols()});
}

/// Likewise for the two sides of a relation; features of targets may be absent.
inline void check_sides(const char* layer, const Relation& relation, const Var& x_src, const Var& x_dst) {
  const auto fit = [](const Var& x, int64_t nodes) { return x.shape().dims() == 2 && x.size(0) == nodes; };
  ADJ_CHECK(x_src && fit(x_src, relation.num_src()), "{}: features {} for a relation of {} sources", layer,
            x_src ? x_src.shape().str() : "absent", relation.num_src());
  ADJ_CHECK(!x_dst || fit(x_dst, relation.num_dst()), "{}: features {} for a relation of {} targets", layer,
            x_dst.shape().str(), relation.num_dst());
}

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
