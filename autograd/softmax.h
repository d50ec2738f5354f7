// Saved for backward: the output.
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

/// exp(x) / Σ exp(x) over the last dimension, and its logarithm, which stays finite if the former underflows
/// to 0.
Var softmax(const Var& x);
Var log_softmax(const Var& x);  ///< x - log Σ exp(x) over the last dimension

}  // namespace adj
