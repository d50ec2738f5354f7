// Options shared by all attentions (attention.h).
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/core/random.h>

namespace adj {

struct AttentionOptions {
  float dropout = 0.0f;            ///< drop probability of a coefficient, in [0, 1)
  bool training = true;            ///< if false, no dropout
  Generator* generator = nullptr;  ///< for dropout, which takes one stream; null: default_generator()
  /// Edge features [M,E] by edge number and their weight, both or neither; the features have the nodes' dtype
  /// or the accumulator dtype (bfloat16 is widened in each pass: 4 M E bytes). Each attention documents their
  /// use.
  Var edge_attr = {};
  Var edge_weight = {};
};

}  // namespace adj
