#pragma once

#include <adjoint/kernels/dispatch_value.h>
#include <adjoint/kernels/kernel.h>

#include <algorithm>
#include <string_view>

namespace adj {

/// Element-wise ops of two operands (kernels::BinaryArgs).
enum class Binary : uint8_t { add, subtract, multiply, divide };

namespace kernels {

/// a op b for one pair of elements, on either device.
template <Binary B>
struct BinaryFunction {
  /// W: float or double.
  template <class W>
  ADJ_HOST_DEVICE W operator()(W a, W b) const {
    if constexpr (B == Binary::add) return a + b;
    if constexpr (B == Binary::subtract) return a - b;
    if constexpr (B == Binary::multiply) return a * b;
    return a / b;
  }
};

/// Calls `f.template operator()<B>()` with B = `binary`.
template <class F>
void dispatch_binary(Binary binary, F&& f) {
  using enum Binary;
  dispatch_value<add, subtract, multiply, divide>(binary, f);
}

/// Extent of `shape` in dimension `d` counted from the last (0 is the last); 1 if there is no such dimension.
inline int64_t extent_from_last(const Shape& shape, int d) {
  return d < shape.dims() ? shape[shape.dims() - 1 - d] : 1;
}

/// Broadcast shape: aligned at the last dimension, an extent of 1 or a missing one expands to the other's.
/// Throws naming `op` and both shapes.
inline Shape broadcast_shape(std::string_view op, const Shape& a, const Shape& b) {
  const int dims = std::max(a.dims(), b.dims());
  std::array<int64_t, Shape::kMaxDims> extents{};
  for (int d = 0; d < dims; ++d) {
    const int64_t left = extent_from_last(a, d), right = extent_from_last(b, d);
    ADJ_CHECK(left == right || left == 1 || right == 1,
              "{}: shapes {} and {} do not fit: expected equal extents, or 1, from the last dimension on", op,
              a.str(), b.str());
    extents[static_cast<size_t>(dims - 1 - d)] = left == 1 ? right : left;
  }
  return Shape(std::span<const int64_t>(extents.data(), static_cast<size_t>(dims)));
}

/// Strides of two operands over the result's dimensions. Adjacent dimensions are merged where both operands
/// are contiguous in them, so two equal shapes are one long row, and a matrix with a column has two
/// dimensions (of kDims). A row is along the last, kLast.
struct BroadcastLayout {
  static constexpr int kDims = Shape::kMaxDims, kLast = kDims - 1;
  int64_t extent[kDims] = {1, 1, 1, 1};  ///< slowest first; unused leading dimensions are 1
  int64_t stride[2][kDims] = {};         ///< of the operands, in elements; 0 in a broadcast dimension

  BroadcastLayout(const Shape& y, const Shape& a, const Shape& b) {
    const Shape* const operands[2] = {&a, &b};
    int64_t natural[2] = {1, 1};
    int slot = kDims;
    for (int d = 0; d < y.dims(); ++d) {
      const int64_t n = extent_from_last(y, d);
      if (n == 1) continue;
      int64_t step[2];
      bool joins = slot < kDims;
      for (int k = 0; k < 2; ++k) {
        step[k] = extent_from_last(*operands[k], d) == 1 ? 0 : natural[k];
        natural[k] *= extent_from_last(*operands[k], d);
        joins = joins && step[k] == stride[k][slot] * extent[slot];
      }
      if (joins) {
        extent[slot] *= n;
      } else {
        extent[--slot] = n;
        for (int k = 0; k < 2; ++k) stride[k][slot] = step[k];
      }
    }
    if (slot == kDims) stride[0][kLast] = stride[1][kLast] = 1;
  }

  int64_t columns() const { return extent[kLast]; }                                ///< elements of a row
  int64_t numel() const { return extent[0] * extent[1] * extent[2] * extent[3]; }  ///< of the result
  bool is_flat() const { return columns() == numel(); }                            ///< one row

  /// Start of row `row` (over all dimensions but the last) in the operands.
  ADJ_HOST_DEVICE void begin_of(int64_t row, int64_t& a, int64_t& b) const {
    a = b = 0;
    for (int d = kLast - 1; row > 0; --d) {
      const int64_t rest = row / extent[d], coordinate = row - rest * extent[d];
      a += coordinate * stride[0][d];
      b += coordinate * stride[1][d];
      row = rest;
    }
  }
};

/// y = a op b; y has the broadcast shape of a and b. `y` may be an operand of its shape. Division by 0
/// follows IEEE.
struct BinaryArgs {
  Binary op;
  const Tensor& a;
  const Tensor& b;
  Tensor& y;

  void check(std::string_view kernel) const {
    check_float(kernel, "a", a);
    check_tensor(kernel, "b", b, b.shape(), a.dtype(), a.device());
    check_tensor(kernel, "y", y, broadcast_shape(kernel, a.shape(), b.shape()), a.dtype(), a.device());
  }
};
ADJ_KERNEL(binary, BinaryArgs)  ///< Element-wise op of two operands, with broadcasting.

/// y = x broadcast along dimensions that x lacks or in which it has extent 1.
struct ExpandArgs {
  const Tensor& x;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "x", x);
    check_tensor(op, "y", y, broadcast_shape(op, x.shape(), y.shape()), x.dtype(), x.device());
  }
};
ADJ_KERNEL(expand, ExpandArgs)  ///< Broadcasting to a shape.

/// y = alpha * a + beta * b, any shape; `b` may be absent (y = alpha * a). `y` may be `a` or `b`.
struct LinearCombinationArgs {
  double alpha = 1.0;
  const Tensor& a;
  double beta = 0.0;
  const Tensor& b = kAbsent;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "a", a);
    if (b) check_like(op, "b", b, a);
    check_like(op, "y", y, a);
  }
};
ADJ_KERNEL(linear_combination, LinearCombinationArgs)  ///< Weighted sum of two tensors.

/// y = a * s; `s` has one element, accumulator dtype, read on the device. `y` may be `a`.
struct MultiplyScalarArgs {
  const Tensor& a;
  const Tensor& s;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "a", a);
    check_scalar(op, "s", s, accumulator_dtype(a.dtype()), a.device());
    check_like(op, "y", y, a);
  }
};
ADJ_KERNEL(multiply_scalar, MultiplyScalarArgs)  ///< Product with a number on the device.

/// y[N,F] = x[N,F] + bias[F]. `y` may be `x`.
struct AddBiasArgs {
  const Tensor& x;
  const Tensor& bias;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    check_tensor(op, "bias", bias, {x.size(1)}, x.dtype(), x.device());
    check_like(op, "y", y, x);
  }
};
ADJ_KERNEL(add_bias, AddBiasArgs)  ///< Adds a vector to each row.

/// y[N,F] = x[N,F] * s[N]: scales each row. `y` may be `x`.
struct ScaleRowsArgs {
  const Tensor& x;
  const Tensor& s;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    check_tensor(op, "s", s, {x.size(0)}, x.dtype(), x.device());
    check_like(op, "y", y, x);
  }
};
ADJ_KERNEL(scale_rows, ScaleRowsArgs)  ///< Multiplies each row by its own number.

/// y[k] = x[order[k]], one-dimensional, `order` int32.
struct PermuteArgs {
  const Tensor& x;
  const Tensor& order;
  Tensor& y;

  void check(std::string_view op) const {
    ADJ_CHECK(x && x.dims() == 1, "{}: x is {}, expected one dimension", op, x.str());
    check_index(op, "order", order, x.device());
    check_tensor(op, "y", y, order.shape(), x.dtype(), x.device());
  }
};
ADJ_KERNEL(permute, PermuteArgs)  ///< Gathers single numbers.

}  // namespace kernels
}  // namespace adj
