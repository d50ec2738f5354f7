#pragma once

#include <adjoint/core/tensor.h>

#include <string_view>

// Argument checks shared by the kernels' contracts. Every message names the kernel, the argument, its actual
// value and the expected one.
namespace adj::kernels {

void check_tensor(std::string_view op, std::string_view name, const Tensor& tensor, const Shape& shape,
                  DType dtype, Device device);
void check_like(std::string_view op, std::string_view name, const Tensor& tensor, const Tensor& like);
/// One element, any number of dimensions.
void check_scalar(std::string_view op, std::string_view name, const Tensor& tensor, DType dtype,
                  Device device);
void check_float(std::string_view op, std::string_view name, const Tensor& tensor);
/// Two dimensions, floating-point.
void check_matrix(std::string_view op, std::string_view name, const Tensor& tensor);
/// int32, one dimension, any length.
void check_index(std::string_view op, std::string_view name, const Tensor& tensor, Device device);

}  // namespace adj::kernels
