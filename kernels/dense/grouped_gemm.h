#pragma once

#include <adjoint/kernels/dense/gemm.h>
#include <adjoint/kernels/dense/group_tiles.h>

namespace adj::kernels {

namespace detail {

/// Rows in groups: `offsets` int64 [G + 1] from 0 to `rows`, `index` int32 [rows] or absent; weights of
/// G x blocks matrices. Returns the blocks.
inline int64_t check_groups(std::string_view op, const Tensor& offsets, const Tensor& index, int64_t rows,
                            const Tensor& weights) {
  check_float(op, "weights", weights);
  ADJ_CHECK(offsets && offsets.dims() == 1 && offsets.numel() >= 2,
            "{}: offsets are {}, expected [G + 1] of one group or more", op, offsets.str());
  const int64_t groups = offsets.numel() - 1;
  check_tensor(op, "offsets", offsets, {groups + 1}, DType::i64, weights.device());
  ADJ_CHECK(weights.dims() == 3 && weights.numel() > 0 && weights.size(0) % groups == 0,
            "{}: weights are {}, expected [G blocks, in, out] for {} groups", op, weights.str(), groups);
  if (index) check_tensor(op, "index", index, {rows}, DType::i32, weights.device());
  return weights.size(0) / groups;
}

}  // namespace detail

/// c[place[k]] = x[index[k]] op(b_g) + bias_g for offsets[g] <= k < offsets[g + 1], group g; without `index`
/// (int32 [M]) x[k], and without `place` (int32 [M], distinct) c[k]. x [N, B K], b [G B, K, F] (or [G B, F,
/// K] if `trans_b`), c [M, B F]: each of B blocks of columns is multiplied by its own matrix, b[g B + block].
/// `bias` [G, B F] optional. All groups in one launch, whose tiles are numbered over all of them: groups may
/// be empty or of any size, and the bits of a row do not depend on others. Offsets int64 [G + 1], ascending
/// from 0 to M, on the device. K, F and G are positive.
struct GroupedGemmArgs {
  const Tensor& x;
  const Tensor& index = kAbsent;
  const Tensor& place = kAbsent;
  const Tensor& offsets;
  const Tensor& b;
  Transpose trans_b = Transpose::no;
  const Tensor& bias = kAbsent;
  Tensor& c;

  int64_t groups() const { return offsets.numel() - 1; }                       ///< G
  int64_t blocks() const { return b.size(0) / groups(); }                      ///< B
  int64_t inner() const { return b.size(trans_b == Transpose::yes ? 2 : 1); }  ///< K
  int64_t outer() const { return b.size(trans_b == Transpose::yes ? 1 : 2); }  ///< F
  void check(std::string_view op) const {
    check_matrix(op, {{"x", x}, {"c", c}});
    const int64_t count = detail::check_groups(op, offsets, index, c.size(0), b);
    check_tensor(op, "x", x, {index ? x.size(0) : c.size(0), count * inner()}, b.dtype(), b.device());
    check_tensor(op, "c", c, {c.size(0), count * outer()}, b.dtype(), b.device());
    if (place) check_tensor(op, "place", place, {c.size(0)}, DType::i32, b.device());
    if (bias) check_tensor(op, "bias", bias, {groups(), count * outer()}, b.dtype(), b.device());
    ADJ_CHECK(!c.shares_storage_with(x) && !c.shares_storage_with(b),
              "{}: c cannot share storage with x or b", op);
  }
};
ADJ_KERNEL(grouped_gemm, GroupedGemmArgs)  ///< Product by a matrix per group of rows.

/// Gradient of its weights: dw[g B + block] [K,F] = Σ_k x[index[k], block]ᵀ dz[place[k], block] over the
/// rows of group g; zeros for an empty group. Rows are summed in pieces whose length depends on `all_rows`, M
/// if it is 0, and these in order.
struct GroupedWeightGradientArgs {
  const Tensor& x;
  const Tensor& index = kAbsent;
  const Tensor& place = kAbsent;
  const Tensor& offsets;  ///< int64 [G + 1], as for the product
  const Tensor& dz;
  int64_t all_rows = 0;  ///< of the rows that these are a part of
  Tensor& dw;

  int64_t piece_rows() const { return all_rows > 0 ? all_rows : dz.size(0); }  ///< decides the pieces' length
  int64_t groups() const { return offsets.numel() - 1; }                       ///< G
  int64_t blocks() const { return dw.size(0) / groups(); }                     ///< B
  void check(std::string_view op) const {
    check_matrix(op, {{"x", x}, {"dz", dz}});
    const int64_t count = detail::check_groups(op, offsets, index, dz.size(0), dw);
    check_tensor(op, "x", x, {index ? x.size(0) : dz.size(0), count * dw.size(1)}, dw.dtype(), dw.device());
    if (place) check_tensor(op, "place", place, {dz.size(0)}, DType::i32, dw.device());
    check_tensor(op, "dz", dz, {dz.size(0), count * dw.size(2)}, dw.dtype(), dw.device());
    ADJ_CHECK(!dw.shares_storage_with(x) && !dw.shares_storage_with(dz),
              "{}: dw cannot share storage with x or dz", op);
  }
};
ADJ_KERNEL(grouped_weight_gradient, GroupedWeightGradientArgs)  ///< Gradient of the matrices by group.

}  // namespace adj::kernels
