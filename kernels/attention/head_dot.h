#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

namespace detail {

/// Checks the operands, with the terms y and y2 (or their gradients) per node and head.
inline void check_head_dot(std::string_view op, const Tensor& x, const Tensor& a, const Tensor& a2, Named y,
                           Named y2) {
  check_matrix(op, {{"x", x}, {"a", a}});
  check_tensor(op, "a", a, a.shape(), x.dtype(), x.device());
  check_tensor(op, "x", x, {x.size(0), a.numel()}, x.dtype(), x.device());
  check_tensor(op, {y}, {x.size(0), a.size(0)}, accumulator_dtype(x.dtype()), x.device());
  if (a2) check_like(op, "a2", a2, a);
  if (a2) check_like(op, {y2}, y.tensor);
}

}  // namespace detail

/// y[n,h] = ⟨x[n,h,:], a[h,:]⟩ for one or two vectors in one pass over x: the terms of GAT's logits. x [N, H
/// D], a [H,D], y [N,H] (accumulator dtype); `a2` and `y2` are given together or both absent.
struct HeadDotArgs {
  const Tensor& x;
  const Tensor& a;
  const Tensor& a2 = kAbsent;
  Tensor& y;
  Tensor& y2;

  void check(std::string_view op) const {
    ADJ_CHECK(static_cast<bool>(a2) == static_cast<bool>(y2), "{}: a2 and y2 come together", op);
    detail::check_head_dot(op, x, a, a2, {"y", y}, {"y2", y2});
  }
};
ADJ_KERNEL(head_dot, HeadDotArgs)  ///< Dot products of a row with a vector, per head.

/// Gradients of head_dot: dx[n,h,:] = dy[n,h] a[h,:] + dy2[n,h] a2[h,:], da[h,:] = Σ_n dy[n,h] x[n,h,:], and
/// da2 likewise; those not needed may be absent. With da and da2, `d_o` [N, H D] may be given and is reduced
/// in the same pass: `dbias` [H D], dbias[h,:] = Σ_n d_o[n,h,:], the gradient of a layer's bias. The order of
/// the sums over rows depends only on the shape.
struct HeadDotBackwardArgs {
  const Tensor& x;
  const Tensor& a;
  const Tensor& a2 = kAbsent;
  const Tensor& dy;
  const Tensor& dy2 = kAbsent;
  const Tensor& d_o = kAbsent;
  Tensor& dx;
  Tensor& da;
  Tensor& da2;
  Tensor& dbias;

  void check(std::string_view op) const {
    ADJ_CHECK(static_cast<bool>(a2) == static_cast<bool>(dy2) && (a2 || !da2),
              "{}: a2, dy2 and da2 come together", op);
    detail::check_head_dot(op, x, a, a2, {"dy", dy}, {"dy2", dy2});
    ADJ_CHECK(static_cast<bool>(d_o) == static_cast<bool>(dbias) && (!d_o || (da && da2)),
              "{}: d_o and dbias come together, and with da and da2", op);
    if (d_o) {
      check_like(op, "d_o", d_o, x);
      check_tensor(op, "dbias", dbias, {a.numel()}, x.dtype(), x.device());
    }
    check_gradients(op, {{"dx", dx, x}, {"da", da, a}, {"da2", da2, a2}});
  }
};
ADJ_KERNEL(head_dot_backward, HeadDotBackwardArgs)  ///< Gradients of head_dot.

/// y[n,h,:] = x[n,h,:] W_h for every head h, W_h [E,D] being columns [h D, (h + 1) D) of `weight` [E, H D]: x
/// [N, H E], y [N, H D]. With `turned`, by W_hᵀ: x [N, H D], y [N, H E]. Adds to y if `accumulate`. Heads are
/// independent, so a non-finite value stays in its head.
struct HeadProductArgs {
  const Tensor& x;
  const Tensor& weight;
  int64_t heads;  ///< H
  bool turned = false;
  bool accumulate = false;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, {{"x", x}, {"weight", weight}});
    const int64_t of_weight = weight.size(0) * heads, features = weight.size(1), rows = x.size(0);
    ADJ_CHECK(heads >= 1 && features % heads == 0, "{}: weight is {} for {} heads", op, weight.str(), heads);
    check_tensor(op, "weight", weight, weight.shape(), x.dtype(), x.device());
    check_tensor(op, "x", x, {rows, turned ? features : of_weight}, x.dtype(), x.device());
    check_tensor(op, "y", y, {rows, turned ? of_weight : features}, x.dtype(), x.device());
    ADJ_CHECK(!y.shares_storage_with(x) && !y.shares_storage_with(weight),
              "{}: y can be neither x nor weight", op);
  }
};
ADJ_KERNEL(head_product, HeadProductArgs)  ///< Products with a matrix per head.

/// weight[e, h D + d] = product[h E + e, h D + d], the E x D diagonal blocks of product [H E, H D]: the
/// gradient of head_product's weight for product = xᵀ dy.
struct DiagonalBlocksArgs {
  const Tensor& product;
  int64_t heads;  ///< H
  Tensor& weight;

  Device device() const { return product.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    check_float(op, "product", product);
    check_matrix(op, "weight", weight);
    ADJ_CHECK(heads >= 1 && weight.size(1) % heads == 0, "{}: weight is {} for {} heads", op, weight.str(),
              heads);
    check_tensor(op, "product", product, {heads * weight.size(0), weight.size(1)}, weight.dtype(),
                 weight.device());
    ADJ_CHECK(!weight.shares_storage_with(product), "{}: weight cannot be product", op);
  }
};
ADJ_KERNEL(diagonal_blocks, DiagonalBlocksArgs)  ///< Gradient of head_product's weight.

}  // namespace adj::kernels
