#include <adjoint/kernels/check.h>
#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

const Tensor kAbsent;

void check_tensor(std::string_view op, std::string_view name, const Tensor& tensor, const Shape& shape,
                  DType dtype, Device device) {
  ADJ_CHECK(tensor && tensor.shape() == shape && tensor.dtype() == dtype && tensor.device() == device,
            "{}: {} is {}, expected {} {} on {}", op, name, tensor.str(), shape.str(), name_of(dtype),
            device.str());
}

void check_tensor(std::string_view op, NamedList tensors, const Shape& shape, DType dtype, Device device) {
  for (const auto& [name, tensor] : tensors) check_tensor(op, name, tensor, shape, dtype, device);
}

void check_like(std::string_view op, std::string_view name, const Tensor& tensor, const Tensor& like) {
  check_tensor(op, name, tensor, like.shape(), like.dtype(), like.device());
}

void check_like(std::string_view op, NamedList tensors, const Tensor& like) {
  check_tensor(op, tensors, like.shape(), like.dtype(), like.device());
}

void check_gradients(std::string_view op, std::initializer_list<GradientOf> gradients) {
  for (const auto& [name, gradient, operand] : gradients)
    if (gradient) check_like(op, name, gradient, operand);
}

void check_scalar(std::string_view op, std::string_view name, const Tensor& tensor, DType dtype,
                  Device device) {
  ADJ_CHECK(tensor && tensor.numel() == 1 && tensor.dtype() == dtype && tensor.device() == device,
            "{}: {} is {}, expected one {} on {}", op, name, tensor.str(), name_of(dtype), device.str());
}

void check_float(std::string_view op, std::string_view name, const Tensor& tensor) {
  ADJ_CHECK(tensor && is_floating(tensor.dtype()), "{}: {} is {}, expected float32, float64 or bfloat16", op,
            name, tensor.str());
}

void check_matrix(std::string_view op, std::string_view name, const Tensor& tensor) {
  check_float(op, name, tensor);
  ADJ_CHECK(tensor.dims() == 2, "{}: {} is {}, expected a matrix", op, name, tensor.str());
}

void check_matrix(std::string_view op, NamedList tensors) {
  for (const auto& [name, tensor] : tensors) check_matrix(op, name, tensor);
}

void check_index(std::string_view op, std::string_view name, const Tensor& tensor, Device device) {
  ADJ_CHECK(tensor && tensor.dims() == 1 && tensor.dtype() == DType::i32 && tensor.device() == device,
            "{}: {} is {}, expected int32 [K] on {}", op, name, tensor.str(), device.str());
}

void check_index(std::string_view op, NamedList tensors, Device device) {
  for (const auto& [name, tensor] : tensors) check_index(op, name, tensor, device);
}

}  // namespace adj::kernels
