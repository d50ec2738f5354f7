#include <adjoint/core/shape.h>

namespace adj {

std::string Shape::str() const {
  std::string text = "[";
  for (int d = 0; d < dims_; ++d) text += fmt::format("{}{}", d == 0 ? "" : ", ", extents_[d]);
  return text + "]";
}

}  // namespace adj
