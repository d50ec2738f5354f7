#pragma once

#include <adjoint/core/tensor.h>

namespace adj {

/// to[i] = source[i], converted between dtypes on one device; the two have as many elements.
void convert(const Tensor& source, Tensor& to);
/// Every element = value, converted to the tensor's dtype.
void fill(Tensor& tensor, double value);

namespace cpu {
void convert(const Tensor& source, Tensor& to);
void fill(Tensor& tensor, double value);
}  // namespace cpu
namespace cuda {
void convert(const Tensor& source, Tensor& to);
void fill(Tensor& tensor, double value);
}  // namespace cuda

}  // namespace adj
