#pragma once

#include <adjoint/core/keyed_cache.h>
#include <adjoint/graph/aggregation.h>
#include <adjoint/kernels/sparse/coo.h>

#include <memory>
#include <optional>
#include <string_view>

namespace adj {

/// Edges as a list: edge e goes from src[e] to dst[e], both int32 [M].
struct EdgeIndex {
  Tensor src;
  Tensor dst;
};

/// Edges from one set of nodes to another (or the same): the structure of a [num_dst, num_src] matrix, rows
/// being targets and columns sources. It begins in one form and derives every other on demand, once, and
/// keeps it. Immutable, a cheap handle, thread-safe. At most 2^31 - 2^16 nodes on either side and edges;
/// offsets are int64, ids and columns int32. Parallel edges count each.
///
/// **Edge numbers.** Edge e is the e-th of the form that the relation began as: of the list, of the CSR, or
/// of the transposed CSR. Whatever belongs to edges ([M], or [M,H] for H heads) stands in this order
/// everywhere; `csr_order()` and `transposed_order()` tell kernels where an entry of a derived form finds its
/// edge.
///
/// What asking costs, by the form it began as; all of it is paid once:
///
/// | asked for            | edge list             | CSR                  | transposed CSR       |
/// | -------------------- | --------------------- | -------------------- | -------------------- |
/// | `edge_index()`       | nothing               | a pass, 4M bytes     | a pass, 4M bytes     |
/// | `csr()`              | a sort, 8M + 8N bytes | nothing              | a sort, 8M + 8N      |
/// | `csr_order()`        | comes with `csr()`    | absent (identity)    | comes with `csr()`   |
/// | `transposed()`       | `csr()` and a sort    | a sort, 8M + 8N      | nothing              |
/// | `transposed_order()` | that and a pass       | the same sort        | absent (identity)    |
/// | `symmetric()`, CPU   | `csr()` and a pass up to the first edge without its like, 8N bytes  |||
/// | `symmetric()`, GPU   | degrees; where they agree `transposed()` and a comparison; the host waits  |||
/// | `reversed()`         | nothing: the same object seen from the other side          |||
/// | `sorted()`           | `csr()`               | nothing              | `csr()`              |
/// | `in_degrees()`       | a pass                | a pass               | a pass               |
///
/// **Sums over neighbours** (spmm, aggregate and the layers over them) go over csr() and transposed(), unless
/// the relation began as a list and scatters(): then over coo(), and nothing is sorted (graph/aggregation.h).
class Relation {
 public:
  Relation() = default;
  /// `src` int32 or int64 [M] in [0, num_src), `dst` likewise in [0, num_dst), on one device, in any order.
  /// Throws if the lengths differ, an index is out of range (naming its place), or there is too much of
  /// anything. `use` decides whether the list is sorted for its sums.
  static Relation from_coo(int64_t num_src, int64_t num_dst, const Tensor& src, const Tensor& dst,
                           const detail::ListUse& use = {});
  /// `in_edges`: row i holds the sources of target i's edges, ascending, or in any order where it is not said
  /// to be (`ascending`): then it serves for sums over neighbours and edge operations, as a sampled block's,
  /// but is no Graph, and never found to be symmetric. `symmetric`, where the caller knows it: does the
  /// structure equal its transpose? Throws if the arrays do not fit together in shape and dtype; their
  /// contents are the caller's word.
  static Relation from_csr(Csr in_edges, std::optional<bool> symmetric = {});
  /// `out_edges`: row j holds the targets of source j's edges, ascending.
  static Relation from_transposed(Csr out_edges, std::optional<bool> symmetric = {});

  explicit operator bool() const { return impl_ != nullptr; }
  /// The same object (not merely equal edges).
  bool operator==(const Relation&) const = default;
  int64_t num_src() const;
  int64_t num_dst() const;
  int64_t num_edges() const;
  Device device() const;

  /// Do the sources of every row of csr() ascend?
  bool rows_ascend() const;

  /// By edge number.
  EdgeIndex edge_index() const;
  /// [num_dst, num_src]: rows are targets. The reference lives as long as the relation.
  const Csr& csr() const;
  /// int32 [M]: entry k of csr() is edge csr_order()[k]. Absent: entry k is edge k.
  const Tensor& csr_order() const;
  /// [num_src, num_dst]: rows are sources. Where the structure equals its transpose this is csr() itself, and
  /// what kernels keep with it is shared.
  const Csr& transposed() const;
  /// int32 [M]: entry k of transposed() is edge transposed_order()[k]. Absent: entry k is edge k.
  const Tensor& transposed_order() const;

  /// Are sums of `features` over the neighbours scattered over the list? As ComputeContext says, by
  /// default by the rule on counts and the list's use; never where the relation began otherwise, nor in
  /// float64 on a GPU. --explain says why.
  bool scatters(DType features) const;
  /// The edges as kernels take a list: rows are targets, entry e is edge e.
  Coo coo() const;
  /// The same edges under their numbers, then a self-loop of each node in turn, as a list that is used as
  /// this one is. Made once. Throws where the two sides differ.
  const Relation& loops_appended() const;

  /// The matrix and its transpose with values by edge number (float [M]; absent: ones), as kernels take them.
  /// The views borrow from this object.
  CsrMatrix matrix(const Tensor& values = {}) const;
  CsrMatrix adjoint(const Tensor& values = {}) const;

  /// True if the structure equals its transpose, the number of parallel edges included.
  bool symmetric() const;
  /// float32 [num_dst]: number of edges into each target.
  const Tensor& in_degrees() const;
  /// float32 [num_src]: number of edges out of each source.
  const Tensor& out_degrees() const;
  /// Every edge turned round, under its number.
  Relation reversed() const;
  /// The same edges numbered as csr() has them, which they share; this relation where they are.
  const Relation& sorted() const;
  /// On another device, under the same edge numbers, with every form, count and further relation that was
  /// made of it by now, so that nothing of these is derived there again. What is small goes as one copy.
  Relation to(Device device) const;
  Relation carried_to(detail::Carrier& carrier) const;

  /// What is derived from this structure besides, under its kind and parameter: degree buckets, tiles.
  KeyedCache& cache() const;

 private:
  struct Impl;
  const Impl& impl() const;
  Relation(std::shared_ptr<const Impl> impl, bool reversed) : impl_(std::move(impl)), reversed_(reversed) {}

  std::shared_ptr<const Impl> impl_;
  bool reversed_ = false;  // seen from the other side: rows are Impl's columns
};

namespace detail {
/// `src` and `dst` as int32 once they are known to be the edges between that many nodes; throws otherwise,
/// naming `what` ("graph of 3 nodes"). The host waits for the device once.
EdgeIndex checked_edges(std::string_view what, int64_t num_src, int64_t num_dst, const Tensor& src,
                        const Tensor& dst);

/// A compressed form and the edge that each of its entries is (int32 [M]; absent: entry k is edge k).
struct SortedEdges {
  Csr csr;
  Tensor order;
};
/// By target, then source, equal edges as they come. Indices are in range. Waits for nothing.
SortedEdges sorted_edges(int64_t num_src, int64_t num_dst, const EdgeIndex& edges);
}  // namespace detail

}  // namespace adj
