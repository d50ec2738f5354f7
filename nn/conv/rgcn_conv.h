#pragma once

#include <adjoint/kernels/types/reduce.h>
#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/module.h>

#include <memory>

namespace adj {
struct TypedSlots;
}

namespace adj::nn {

/// Options of RGCNConv.
struct RGCNConvOptions {
  int64_t bases = 0;           ///< B > 0: W_r = Σ_b a_rb V_b of B matrices (eq. 3)
  int64_t blocks = 0;          ///< B > 0: W_r is block-diagonal, B blocks of in/B x out/B (eq. 4)
  Reduce aggr = Reduce::mean;  ///< over the neighbours of each relation, or sum
  bool root_weight = true;     ///< W_0 x_i
  bool bias = true;            ///< b
};

/// W_0 x_i + b + Σ_r 1/c_{i,r} Σ_j W_r x_j over the edges j -> i of relation r, c their number (Schlichtkrull
/// et al., Modeling Relational Data with Graph Convolutional Networks, 2018, eq. 2; PyG's RGCNConv). All
/// relations are multiplied at once: the distinct pairs of a relation and a source, whose products are
/// summed, or those of a relation and a target, whose means are multiplied, whichever moves fewer bytes.
/// Nothing is made per edge. Weights of edges are ignored. Parameters are Glorot-uniform, b is 0.
class RGCNConv : public Module {
 public:
  /// Throws unless widths and `relations` are positive, and divisible by the blocks.
  RGCNConv(Widths in, int64_t out, int64_t relations, const RGCNConvOptions& options = {});
  /// x of all nodes, or {x_src [num_src, in.src], x_dst [num_dst, in.dst]}; x_dst absent: no W_0 term.
  /// `types`: int32 [M], the relation of each edge by edge number; absent: the edge attribute "type" of the
  /// graph or block. The pairs are cached with the relation for this tensor (typed_pairs()). An x that is
  /// moved here is freed before the result is made, if nothing else holds it.
  Var operator()(const Structure& structure, Sides x, const Tensor& types = {}) const;
  /// Makes all that a pass over this structure derives from it: for loaders, and before a captured step.
  void prepare(const Structure& structure, const Tensor& types = {}) const;
  /// Before a layer over `first`, the edges into the first targets of `whole` (edges_into_first()), which a
  /// layer of as many relations was over: it shares memory with what that derived.
  void share(const Structure& whole, const Structure& first) const;
  std::string describe() const override;

  Var weight;  ///< [R, in, out]; with bases V [B, in, out], with blocks [R, B, in/B, out/B]
  Var comp;    ///< a [R, B], with bases
  Var root;    ///< W_0 [in.dst, out], with root_weight
  Var bias;    ///< [out], or absent

 private:
  bool sums_first(int64_t sources, int64_t targets, int64_t edges, int64_t nodes) const;
  bool surely_sums_first(const Relation& relation) const;
  Var neighbors(const Relation& relation, const Tensor& types, const Var& x) const;
  std::shared_ptr<const TypedSlots> slots_of(const Relation& relation, const Tensor& types,
                                             bool with_root) const;
  Var sum_slots(const TypedSlots& slots, const Relation& relation, Sides x, bool with_root) const;
  /// The same over a rank's part: each pair is computed by the rank of its node.
  Var rank_neighbors(const Relation& part, const Tensor& types, const Var& x) const;

  Widths in_;
  int64_t out_, relations_;
  RGCNConvOptions options_;
};

namespace detail {
/// The types of a structure's edges for `layer`: `types`, or the edge attribute "type" if absent. Throws
/// Error, naming the layer, if there is neither.
const Tensor& edge_types(const char* layer, const Structure& structure, const Tensor& types);

/// Shape of the maps `in` -> `out` of `relations`: [R, in, out], of bases [B, in, out], of blocks [R, B,
/// in/B, out/B]. Throws Error, naming `layer`, for bases and blocks, and for widths that do not divide.
Shape relation_maps(const char* layer, int64_t relations, int64_t in, int64_t out, int64_t bases,
                    int64_t blocks);
/// Such maps for grouped_linear(): [R, in, out], or [R B, in/B, out/B] of blocks. `comp` [R, B] for bases,
/// else absent.
Var relation_matrices(const Var& weight, const Var& comp);
}  // namespace detail

}  // namespace adj::nn
