#include <adjoint/data/detail/item_paths.h>

#include <fmt/format.h>

namespace adj::detail {

std::string ItemPaths::path(std::string_view path) const {
  if (group_.empty()) return std::string(path);
  if (path.empty() || path == "nodes") return group_;
  if (path == "splits" || path.starts_with("splits/")) return fmt::format("{}/{}", group_, path);
  constexpr std::string_view kNodes = "nodes/";
  if (!path.starts_with(kNodes)) return fmt::format("{}//{}", group_, path);
  std::string_view name = path.substr(kNodes.size());
  const bool attributes = edges_ && (name == "x" || name.starts_with("x_"));
  if (attributes) name.remove_prefix(1);
  return fmt::format("{}/{}{}", group_, attributes ? "attr" : "", name);
}

std::string ItemPaths::place(std::string_view place) const {
  constexpr std::string_view kAttribute = "attribute ";
  if (group_.empty()) return std::string(place);
  if (!place.starts_with(kAttribute)) return path(place);
  place.remove_prefix(kAttribute.size());
  const size_t end = place.find('@');
  const std::string_view object = end == std::string_view::npos ? "" : place.substr(0, end);
  return fmt::format("{}{}@{}", kAttribute, path(object), place.substr(end + 1));
}

}  // namespace adj::detail
