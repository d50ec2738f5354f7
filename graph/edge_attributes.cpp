#include <adjoint/graph/edge_attributes.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/index/gather.h>

namespace adj::detail {

void check_attributes(std::string_view what, const EdgeAttributes& attributes, int64_t edges, Device device) {
  for (const auto& [name, tensor] : attributes)
    ADJ_CHECK(tensor && (tensor.dims() == 1 || tensor.dims() == 2) && tensor.size(0) == edges &&
                  tensor.device() == device,
              "{}: edge attribute \"{}\" is {}, expected [{}] or [{}, E] on {}", what, name, tensor.str(),
              edges, edges, device.str());
}

const Tensor& find_attribute(std::string_view what, const EdgeAttributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  if (found != attributes.end()) return found->second;
  std::string names;
  for (const auto& [existing, tensor] : attributes) names += (names.empty() ? "" : ", ") + existing;
  fail("{}: no edge attribute \"{}\", expected one of: {}", what, name, names.empty() ? "(none)" : names);
}

Tensor gather_edges(const Tensor& x, const Tensor& index) {
  if (x.dims() == 1) {
    Tensor y = Tensor::empty({index.numel()}, x.dtype(), x.device());
    kernels::permute({.x = x, .order = index, .y = y});
    return y;
  }
  Tensor y = Tensor::empty({index.numel(), x.size(1)}, x.dtype(), x.device());
  kernels::gather_rows({.x = x, .index = index, .y = y});
  return y;
}

EdgeAttributes gather_attributes(const EdgeAttributes& attributes, const Tensor& edge) {
  EdgeAttributes gathered;
  for (const auto& [name, tensor] : attributes) gathered.emplace(name, gather_edges(tensor, edge));
  return gathered;
}

EdgeAttributes to_device(const EdgeAttributes& attributes, Device device) {
  EdgeAttributes moved;
  for (const auto& [name, tensor] : attributes) moved.emplace(name, tensor.to(device));
  return moved;
}

}  // namespace adj::detail
