#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/core/random.h>
#include <adjoint/graph/features.h>
#include <adjoint/kernels/types/activation.h>

namespace adj {

/// Zeroes elements with probability p in [0, 1) and scales the others by 1 / (1 - p) (Srivastava et al.
/// 2014); returns x unchanged if p = 0 or `training` is false. Nothing is saved: the mask is redrawn in the
/// backward pass. Takes one stream of `generator`.
Var dropout(const Var& x, float p, bool training = true, Generator& generator = default_generator());

/// dropout(act(x), p) in one memory pass each way; in float32 bitwise equal to the two separate ops. Saved:
/// x. `slope` is for leaky_relu.
Var activate_dropout(Activation activation, const Var& x, float p, bool training = true,
                     Generator& generator = default_generator(), float slope = kLeakySlope);

/// Dropout for features: sparse ones drop stored values, quantised ones are dropped when they are multiplied.
Features dropout(const Features& x, float p, bool training = true,
                 Generator& generator = default_generator());

}  // namespace adj
