#include <adjoint/core/shape.h>

namespace adj {

std::string Shape::str() const {
  std::string text = "[";
  for (int d = 0; d < dims_; ++d) text += fmt::format("{}{}", d == 0 ? "" : ", ", extents_[d]);
  return text + "]";
}

void Shape::throw_too_many(size_t dims) {
  fail("shape: at most {} dimensions, got {}", static_cast<int>(kMaxDims), dims);
}
void Shape::throw_negative(int64_t extent) { fail("shape: negative extent {}", extent); }
void Shape::throw_no_dimension(int d) const { fail("shape {}: no dimension {}", str(), d); }
void Shape::throw_too_large() const { fail("shape {}: more than 2^59 elements", str()); }

void throw_not_float(std::string_view op, DType dtype) {
  fail("{}: expected float32 or float64, got {}", op, name_of(dtype));
}

}  // namespace adj
