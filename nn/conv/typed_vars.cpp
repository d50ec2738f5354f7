#include <adjoint/nn/conv/typed_vars.h>

#include <fmt/format.h>

namespace adj::nn::detail {

std::string module_name(std::string_view type) {
  std::string name;
  for (const char c : type) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (plain)
      name += c;
    else
      name += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return name.empty() ? "%" : name;
}

std::string module_name(const EdgeType& type) {
  return module_name(type.src) + "~" + module_name(type.name) + "~" + module_name(type.dst);
}

int64_t width_of(const char* layer, const TypedWidths& widths, const std::string& type) {
  const auto found = widths.find(type);
  if (found != widths.end()) return found->second;
  std::string known;
  for (const auto& [name, width] : widths) known += (known.empty() ? "" : ", ") + name;
  fail("{}: no width of nodes '{}', expected one of {}", layer, type, known.empty() ? "none" : known);
}

Var features_of(const char* layer, const HeteroGraph& graph, const TypedVars& x, const std::string& type,
                int64_t width, DType dtype) {
  const int64_t nodes = graph.num_nodes(type);
  const auto found = x.find(type);
  const bool has = found != x.end() && found->second;
  ADJ_CHECK(has || nodes == 0, "{}: features of the {} nodes '{}' are absent", layer, nodes, type);
  if (!has) return Tensor::empty({0, width}, dtype, graph.device());
  ADJ_CHECK(found->second.shape() == Shape({nodes, width}),
            "{}: features of nodes '{}' are {}, expected [{}, {}]", layer, type, found->second.shape().str(),
            nodes, width);
  return found->second;
}

}  // namespace adj::nn::detail
