#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/core/random.h>

namespace adj {

/// Zeroes elements with probability p in [0, 1) and scales the others by 1 / (1 - p) (Srivastava et al.
/// 2014); x as it is where p = 0 or `training` is false. Of sparse features the stored values are drawn.
/// Nothing is saved: the mask is drawn again in the backward pass. Takes one stream of `generator`.
Var dropout(const Var& x, float p, bool training = true, Generator& generator = default_generator());

}  // namespace adj
