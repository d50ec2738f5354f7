#pragma once

#include <adjoint/core/tensor.h>

namespace adj::training {

/// Scores that are held at once: 512 MB on a GPU, 16 MB for a CPU's cache.
inline int64_t most_scores(Device device) { return int64_t{1} << (device.is_cuda() ? 27 : 22); }

}  // namespace adj::training
