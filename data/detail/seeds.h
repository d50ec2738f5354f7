#pragma once

#include <adjoint/core/tensor.h>

#include <string_view>

namespace adj::detail {

/// A loader's seed nodes, int32 or int64 [S], as int32 on `device`. Throws, naming the loader and the
/// position, unless all are in [0, nodes) and distinct.
Tensor checked_seeds(std::string_view loader, const Tensor& seeds, int64_t nodes, Device device);

}  // namespace adj::detail
