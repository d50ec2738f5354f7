// Saved for backward: the output.
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

/// Over the last dimension: exp(x) / Σ exp(x), and its logarithm, which stays finite where the former is 0.
Var softmax(const Var& x);
Var log_softmax(const Var& x);

}  // namespace adj
