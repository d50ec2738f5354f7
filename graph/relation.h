#pragma once

#include <adjoint/core/keyed_cache.h>
#include <adjoint/kernels/types/csr.h>

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace adj {

/// Edges in COO form: edge e goes from src[e] to dst[e], both int32 [M].
struct EdgeIndex {
  Tensor src;
  Tensor dst;
};

class Halo;
struct GatheredPart;
class Relation;
struct RankEdges;
struct RankRows;
namespace kernels {
struct ListUse;
}
namespace detail {
/// Relation::from_coo() of a list for this use, which decides whether it is sorted for its sums.
Relation list_for(const kernels::ListUse& use, int64_t num_src, int64_t num_dst, const Tensor& src,
                  const Tensor& dst);
}  // namespace detail

/// Sizes of a relation.
struct RelationSizes {
  int64_t num_src = 0;    ///< sources
  int64_t num_dst = 0;    ///< targets
  int64_t num_edges = 0;  ///< between them
};

/// Edges from one set of nodes to another (or the same): the structure of a [num_dst, num_src] matrix with
/// targets as rows and sources as columns. It begins in one form; all others are derived on first use and
/// cached. Immutable, a cheap handle, thread-safe. At most 2^31 - 2^16 nodes per side and edges; offsets are
/// int64, ids and columns int32. Parallel edges count separately.
///
/// **Edge numbers.** Edge e is the e-th of the original form: the list, the CSR, or the transposed CSR. All
/// edge tensors ([M], or [M,H] for H heads) use this order; `csr_order()` and `transposed_order()` map
/// entries of derived forms to their edges.
///
/// Cost of each request by original form, paid once:
///
/// | request | edge list | CSR | transposed CSR |
/// | -------------------- | --------------------- | -------------------- | -------------------- |
/// | `edge_index()`       | nothing               | a pass, 4M bytes     | a pass, 4M bytes     |
/// | `csr()`              | a sort, 8M + 8N bytes | nothing              | a sort, 8M + 8N      |
/// | `csr_order()`        | comes with `csr()`    | absent (identity)    | comes with `csr()`   |
/// | `transposed()`       | `csr()` and a sort    | a sort, 8M + 8N      | nothing              |
/// | `transposed_order()` | that and a pass       | the same sort        | absent (identity)    |
/// | `symmetric()`, CPU   | `csr()` and a pass up to the first mismatch, 8N bytes  |||
/// | `symmetric()`, GPU   | degrees; if they agree `transposed()`, a comparison and a synchronization  |||
/// | `reversed()`         | nothing: a view of the same object          |||
/// | `sorted()`           | `csr()`               | nothing              | `csr()`              |
/// | `in_degrees()`       | a pass                | a pass               | a pass               |
///
/// **Sums over neighbours** (aggregate and the layers that use it) run over csr() and transposed(), unless
/// the relation began as a list and scatters(): then over coo(), unsorted.
class Relation {
 public:
  Relation() = default;
  /// `src` int32 or int64 [M] in [0, num_src), `dst` likewise in [0, num_dst), on one device, in any order.
  /// Throws if the lengths differ, an index is out of range (naming its place), or there is too much of
  /// anything.
  static Relation from_coo(int64_t num_src, int64_t num_dst, const Tensor& src, const Tensor& dst);
  /// `in_edges`: row i holds the sources of target i's edges, ascending, or in any order if `ascending` is
  /// false (as in sampled blocks): sums over neighbours and edge operations accept that, Graph does not, and
  /// symmetric() is false. `symmetric`: whether the structure equals its transpose, if known. Throws if
  /// shapes or dtypes do not match; contents are not checked.
  static Relation from_csr(Csr in_edges, std::optional<bool> symmetric = {});
  /// `out_edges`: row j holds the targets of source j's edges, ascending.
  static Relation from_transposed(Csr out_edges, std::optional<bool> symmetric = {});
  /// from_csr() of a relation that is not symmetric, with its transpose: `out_order` int32 [M], as
  /// transposed_order(); absent: that throws, and sums alone are differentiable. Throws if sizes do not
  /// match; contents are not checked.
  static Relation from_both(Csr in_edges, Csr out_edges, Tensor out_order = {});

  /// This rank's part of a relation, which has one set of nodes: its rows of csr() and of transposed(), over
  /// all columns, on the group's device. num_src() and num_dst() are their number. Sums over neighbours fetch
  /// the rows of other nodes from their ranks, and have the bits of the whole. All ranks call it together,
  /// and every operation on it. Edges are numbered in csr() order.
  static Relation rank_part(const RankRows& rank, const Csr& in_edges, const Csr& out_edges);
  /// The same between two sets of nodes, each of which is cut: the halo of the targets' in-edges and that of
  /// the sources' out-edges.
  static Relation rank_part(RankEdges edges);

  /// The same edges, which are some of a relation of these sizes: sums over a row of either form have the
  /// order, and the bits, of the whole (Csr::whole).
  Relation as_part(const RelationSizes& whole) const;

  explicit operator bool() const { return impl_ != nullptr; }  ///< false if default-constructed
  /// Identity of the object, not equality of the edges.
  bool operator==(const Relation&) const = default;
  int64_t num_src() const;
  int64_t num_dst() const;
  int64_t num_edges() const;  ///< M; throws if default-constructed, as do the other sizes
  Device device() const;      ///< of all its tensors

  /// True if the sources of every row of csr() ascend.
  bool rows_ascend() const;

  bool is_rank_part() const;     ///< made by rank_part()
  bool knows_out_edges() const;  ///< false for with_local_edges(), which has no transposed()
  /// x [num_src, ...] with the rows of other ranks that csr() names, whose columns are rows of the result; x
  /// itself unless this is a rank's part. Those for transposed() are reversed()'s.
  Tensor source_rows(const Tensor& x) const;
  /// source_rows(x) for products that take some columns at a time (Halo::gather_parts); x itself as one part
  /// unless this is a rank's part.
  void source_parts(const Tensor& x, const std::function<void(const GatheredPart&)>& visit) const;
  /// The adjoint of source_rows(): to each of this rank's sources the sum of the rows of dy that all ranks
  /// have in its place.
  Tensor sum_source_rows(const Tensor& dy) const;
  /// Of a rank's part: its in-edges as a relation from the rows of source_rows() to its targets, with the
  /// same edge numbers. Throws if reversed().
  const Relation& local_edges() const;
  bool is_reversed() const { return reversed_; }  ///< of a handle from reversed()
  int64_t first_local_source() const;  ///< of a rank's part: which row of source_rows() is node 0 here
  /// Of a rank's part: other in-edges, as a relation like local_edges(), between the same rows.
  Relation with_local_edges(Csr in_edges) const;

  /// By edge number. Throws for a rank's part, whose edges name nodes of other ranks.
  EdgeIndex edge_index() const;
  /// [num_dst, num_src]: rows are targets. The reference is valid as long as the relation.
  const Csr& csr() const;
  /// int32 [M]: entry k of csr() is edge csr_order()[k]. Absent: entry k is edge k.
  const Tensor& csr_order() const;
  /// [num_src, num_dst]: rows are sources. For a symmetric structure this is csr() itself, with its shared
  /// kernel caches.
  const Csr& transposed() const;
  /// int32 [M]: entry k of transposed() is edge transposed_order()[k]. Absent: entry k is edge k.
  const Tensor& transposed_order() const;

  /// True if sums of `features` over neighbours scatter over the list: according to
  /// ComputeContext::aggregation, by default a rule on counts and the list's use. Never for other original
  /// forms, nor for float64 on a GPU. --explain shows the reason.
  bool scatters(DType features) const;
  /// The edges as a COO for kernels: rows are targets, entry e is edge e.
  Coo coo() const;
  /// The same edges and numbers, followed by a self-loop for each node in order, as a list with the same use.
  /// Made once. Throws if the two sides differ in size.
  const Relation& loops_appended() const;

  /// The matrix and its transpose with values by edge number (float [M]; absent: ones), for kernels. The
  /// views borrow from this object.
  CsrMatrix matrix(const Tensor& values = {}) const;
  CsrMatrix adjoint(const Tensor& values = {}) const;  ///< the transpose, over transposed()

  /// True if the structure equals its transpose, including multiplicities.
  bool symmetric() const;
  /// float32 [num_dst]: in-degree of each target.
  const Tensor& in_degrees() const;
  /// float32 [num_src]: out-degree of each source.
  const Tensor& out_degrees() const;
  /// Every edge reversed, with the same numbers.
  Relation reversed() const;
  /// The same edges numbered in csr() order, sharing the CSR; this relation itself if they already are.
  const Relation& sorted() const;
  /// On another device, under the same edge numbers, with every form, count and relation derived so far, so
  /// none is derived again. Small tensors take one copy.
  Relation to(Device device) const;

  /// Cache for other structures derived from this one, by type and parameter: degree buckets, tiles.
  KeyedCache& cache() const;

 private:
  friend struct detail::CarrierAccess;
  friend Relation detail::list_for(const kernels::ListUse& use, int64_t num_src, int64_t num_dst,
                                   const Tensor& src, const Tensor& dst);
  Relation carried_to(detail::Carrier& carrier) const;

  struct Impl;
  const Impl& impl() const;
  const Halo& halo() const;
  Relation(std::shared_ptr<const Impl> impl, bool reversed) : impl_(std::move(impl)), reversed_(reversed) {}

  std::shared_ptr<const Impl> impl_;
  bool reversed_ = false;  // view from the other side: rows are Impl's columns
};

namespace detail {
/// `src` and `dst` as int32 after validation; throws otherwise, naming `what` ("graph of 3 nodes"). One
/// synchronization.
EdgeIndex checked_edges(std::string_view what, int64_t num_src, int64_t num_dst, const Tensor& src,
                        const Tensor& dst);

/// A compressed form and the edge number of each entry (int32 [M]; absent: identity).
struct SortedEdges {
  Csr csr;
  Tensor order;
};
/// Sorted by target, then source; stable. Indices must be in range. No synchronization.
SortedEdges sorted_edges(int64_t num_src, int64_t num_dst, const EdgeIndex& edges);
}  // namespace detail

}  // namespace adj
