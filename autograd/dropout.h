#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/core/random.h>
#include <adjoint/graph/features.h>
#include <adjoint/kernels/elementwise/activation.h>

namespace adj {

/// Zeroes elements with probability p in [0, 1) and scales the others by 1 / (1 - p) (Srivastava et al.
/// 2014); x as it is where p = 0 or `training` is false. Nothing is saved: the mask is drawn again in the
/// backward pass. Takes one stream of `generator`.
Var dropout(const Var& x, float p, bool training = true, Generator& generator = default_generator());

/// dropout(act(x), p) in one pass over memory each way, with the bits in float32 of the two apart. Saved: x.
/// `slope` is leaky_relu's.
Var activate_dropout(Activation activation, const Var& x, float p, bool training = true,
                     Generator& generator = default_generator(), float slope = kLeakySlope);

/// The same as dropout for features; of sparse ones the stored values are drawn, quantised ones are drawn as
/// they are multiplied.
Features dropout(const Features& x, float p, bool training = true,
                 Generator& generator = default_generator());

}  // namespace adj
