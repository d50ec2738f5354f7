#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

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

  Device device() const { return x.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    check_matrix(op, {{"x", x}, {"weight", weight}});
    const int64_t of_weight = weight.size(0) * heads, features = weight.size(1), rows = x.size(0);
    ADJ_CHECK(heads >= 1 && features % heads == 0, "{}: weight is {} for {} heads", op, weight.str(), heads);
    check_tensor(op, "weight", weight, weight.shape(), x.dtype(), device());
    check_tensor(op, "x", x, {rows, turned ? features : of_weight}, x.dtype(), device());
    check_tensor(op, "y", y, {rows, turned ? of_weight : features}, x.dtype(), device());
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
