#pragma once

#include <adjoint/core/tensor.h>

#include <initializer_list>
#include <string_view>

// Argument checks shared by the kernels' contracts. Every message names the kernel, the argument, its actual
// value and the expected one.
namespace adj::kernels {

/// An argument with its name, for the same check of several: check_like(op, {{"dy", dy}, {"dx", dx}}, x).
struct Named {
  std::string_view name;
  const Tensor& tensor;  ///< as the caller passed it
};
/// Arguments that are checked one after another; lives only for the call.
using NamedList = std::initializer_list<Named>;

/// Throws Error unless the tensor is present and has exactly this shape, dtype and device.
void check_tensor(std::string_view op, std::string_view name, const Tensor& tensor, const Shape& shape,
                  DType dtype, Device device);
void check_tensor(std::string_view op, NamedList tensors, const Shape& shape, DType dtype, Device device);
/// Throws Error unless it has the shape, dtype and device of `like`.
void check_like(std::string_view op, std::string_view name, const Tensor& tensor, const Tensor& like);
void check_like(std::string_view op, NamedList tensors, const Tensor& like);
/// A gradient, which may be absent, and the operand whose shape, dtype and device it must have.
struct GradientOf {
  std::string_view name;  ///< of the gradient, for the message
  const Tensor &gradient, &operand;
};
/// Throws Error unless each gradient is absent or like its operand.
void check_gradients(std::string_view op, std::initializer_list<GradientOf> gradients);
/// One element, any number of dimensions.
void check_scalar(std::string_view op, std::string_view name, const Tensor& tensor, DType dtype,
                  Device device);
/// Throws Error unless it is float32, float64 or bfloat16, of any shape and on any device.
void check_float(std::string_view op, std::string_view name, const Tensor& tensor);
/// Two dimensions, floating-point.
void check_matrix(std::string_view op, std::string_view name, const Tensor& tensor);
void check_matrix(std::string_view op, NamedList tensors);
/// int32, one dimension, any length.
void check_index(std::string_view op, std::string_view name, const Tensor& tensor, Device device);
void check_index(std::string_view op, NamedList tensors, Device device);

}  // namespace adj::kernels
