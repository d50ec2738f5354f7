#pragma once

#include <adjoint/core/tensor.h>

#include <iosfwd>
#include <string>

#include <fmt/format.h>

namespace adj {

/// Layout of to_text(): of a dimension with more than `edge` items at each end, those in between are "...",
/// if the tensor has more than `most` elements.
struct TextLayout {
  int64_t most = 1000;
  int64_t edge = 3;
  int digits = 4;  ///< behind the point
};

/// The elements in nested brackets, a row a line, and str() in the last line; "absent" without a value. Waits
/// for the device, and copies what it shows.
std::string to_text(const Tensor& tensor, const TextLayout& layout = {});

// As to_text(), and as str() or name_of().
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const Shape& shape);
std::ostream& operator<<(std::ostream& out, Device device);
std::ostream& operator<<(std::ostream& out, DType dtype);

}  // namespace adj

// fmt::print("{}", tensor).
/// @cond
template <>
struct fmt::formatter<adj::Tensor> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const adj::Tensor& tensor, Context& context) const {
    return fmt::formatter<std::string>::format(adj::to_text(tensor), context);
  }
};
/// @endcond
