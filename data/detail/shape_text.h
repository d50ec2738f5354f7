#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Shapes of stored arrays, in checks and messages.

namespace adj::detail {

/// Whether `found` matches `wanted`, in which -1 is any extent.
bool has_shape(const std::vector<int64_t>& found, const std::vector<int64_t>& wanted);
/// "[3, *]".
std::string shape_text(const std::vector<int64_t>& shape);
/// Position of element k, row-major: "row 3, column 1".
std::string place_text(const std::vector<int64_t>& shape, int64_t k);

}  // namespace adj::detail
