#pragma once

#include <adjoint/autograd/attention.h>
#include <adjoint/autograd/detail/edge.h>
#include <adjoint/autograd/detail/ranks.h>
#include <adjoint/kernels/attention/attention.h>
#include <adjoint/kernels/dense/gemm.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/tiles/row_tiles.h>
#include <adjoint/kernels/tiles/tile_choice.h>

namespace adj::detail {

inline kernels::AttentionDropout attention_dropout(const AttentionOptions& options) {
  const DropoutRule rule = dropout_rule(options.dropout);
  if (!options.training || rule.threshold == 0) return {};
  Generator& generator = options.generator != nullptr ? *options.generator : default_generator();
  return {key_of_rows(generator, {}), rule};
}

/// Tiles of the transposed structure if `tiles` is non-null.
inline std::shared_ptr<const RowTiles> tiles_like(const std::shared_ptr<const RowTiles>& tiles,
                                                  const Csr& csr) {
  return tiles ? kernels::row_tiles(csr, tiles->least) : nullptr;
}

/// Throws unless `x` is [nodes, H, D] on the relation's device, H and D at least 1.
inline void check_heads(const char* op, const char* name, const Relation& relation, const Var& x,
                        int64_t nodes) {
  ADJ_CHECK(x && x.shape().dims() == 3 && x.size(0) == nodes && x.size(1) >= 1 && x.size(2) >= 1,
            "{}: {} is {}, expected [{}, H, D] with H and D at least 1", op, name,
            x ? x.shape().str() : "absent", nodes);
  ADJ_CHECK(x.device() == relation.device(), "{}: relation on {}, {} on {}", op, relation.device().str(),
            name, x.device().str());
}

/// Throws unless `x` has `shape` and the dtype and device of `like`.
inline void check_beside(const char* op, const char* name, const Var& x, const Shape& shape,
                         const Var& like) {
  ADJ_CHECK(x && x.shape() == shape && x.dtype() == like.dtype() && x.device() == like.device(),
            "{}: {} is {}, expected {} {} on {}", op, name, x ? x.value().str() : "absent", shape.str(),
            name_of(like.dtype()), like.device().str());
}

/// Throws unless edge features and their weight [E, columns] match the relation and the dtype and device of
/// `x`.
inline void check_edge_features(const char* op, const Relation& relation, const AttentionOptions& options,
                                int64_t columns, const Var& x) {
  const Var &attr = options.edge_attr, &weight = options.edge_weight;
  ADJ_CHECK(static_cast<bool>(attr) == static_cast<bool>(weight), "{}: {} without {}", op,
            attr ? "edge_attr" : "edge_weight", attr ? "edge_weight" : "edge_attr");
  if (!attr) return;
  ADJ_CHECK(attr.shape().dims() == 2 && attr.size(0) == relation.num_edges() && attr.size(1) >= 1,
            "{}: edge_attr is {}, expected [{}, E] with E at least 1", op, attr.shape().str(),
            relation.num_edges());
  ADJ_CHECK((attr.dtype() == x.dtype() || attr.dtype() == accumulator_dtype(x.dtype())) &&
                attr.device() == x.device(),
            "{}: edge_attr is {}, but node features are {}", op, attr.value().str(), x.value().str());
  check_beside(op, "edge_weight", weight, {attr.size(1), columns}, x);
}

/// x [N,H,D] as a matrix for kernels; absent if x is.
inline Tensor rows_of(const Tensor& x) { return x ? as_matrix(x) : Tensor(); }
inline Tensor empty_if(bool wanted, const Tensor& like) {
  return wanted ? Tensor::empty_like(like) : Tensor();
}
/// [rows, heads], accumulator dtype: per-node, per-head terms.
inline Tensor head_terms(int64_t rows, int64_t heads, const Tensor& x) {
  return Tensor::empty({rows, heads}, accumulator_dtype(x.dtype()), x.device());
}
/// a b, a bᵀ or aᵀ b.
inline Tensor product_of(const Tensor& a, const Tensor& b, bool turned_a = false, bool turned_b = false) {
  using kernels::Transpose;
  Tensor c = Tensor::empty({a.size(turned_a ? 1 : 0), b.size(turned_b ? 0 : 1)}, a.dtype(), a.device());
  kernels::gemm({.a = a,
                 .trans_a = turned_a ? Transpose::yes : Transpose::no,
                 .b = b,
                 .trans_b = turned_b ? Transpose::yes : Transpose::no,
                 .c = c});
  return c;
}
/// a += b.
inline void add_to(Tensor& a, const Tensor& b) {
  kernels::linear_combination({.alpha = 1.0, .a = a, .beta = 1.0, .b = b, .y = a});
}

}  // namespace adj::detail
