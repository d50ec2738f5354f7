#pragma once

#include <adjoint/core/tensor.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace adj {

/// Named edge attributes in addition to the weight (types, distances, times): each [M] or [M,E] of any dtype,
/// by edge number.
using EdgeAttributes = std::map<std::string, Tensor, std::less<>>;

namespace detail {
/// Throws, naming `what` and the attribute, unless each is [edges] or [edges, E] on `device`.
void check_attributes(std::string_view what, const EdgeAttributes& attributes, int64_t edges, Device device);
/// Throws, listing the existing names, if the name does not exist.
const Tensor& find_attribute(std::string_view what, const EdgeAttributes& attributes, std::string_view name);
/// Gathers every attribute by `edge` (int32 [K]): row k is row edge[k].
EdgeAttributes gather_attributes(const EdgeAttributes& attributes, const Tensor& edge);
EdgeAttributes to_device(const EdgeAttributes& attributes, Device device);
/// x[index[k]] for [M] or x[index[k], :] for [M,E], any dtype.
Tensor gather_edges(const Tensor& x, const Tensor& index);
}  // namespace detail

}  // namespace adj
