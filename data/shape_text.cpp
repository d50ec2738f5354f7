#include <adjoint/data/detail/shape_text.h>

#include <algorithm>

#include <fmt/ranges.h>

namespace adj::detail {

bool has_shape(const std::vector<int64_t>& found, const std::vector<int64_t>& wanted) {
  return std::equal(found.begin(), found.end(), wanted.begin(), wanted.end(),
                    [](int64_t a, int64_t b) { return b == -1 || a == b; });
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> extents;
  for (int64_t extent : shape) extents.push_back(extent < 0 ? "*" : std::to_string(extent));
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

std::string place_text(const std::vector<int64_t>& shape, int64_t k) {
  if (shape.empty()) return "its only element";
  if (shape.size() == 1) return fmt::format("position {}", k);
  if (shape.size() == 2) return fmt::format("row {}, column {}", k / shape[1], k % shape[1]);
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; k /= shape[d]) index[d] = k % shape[d];
  return fmt::format("[{}]", fmt::join(index, ", "));
}

}  // namespace adj::detail
