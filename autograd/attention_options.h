// What the attentions share (attention.h).
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/core/random.h>

namespace adj {

struct AttentionOptions {
  float dropout = 0.0f;            ///< probability of dropping a coefficient, in [0, 1)
  bool training = true;            ///< without: no dropout
  Generator* generator = nullptr;  ///< of dropout, which takes one stream; default_generator() where null
  /// Features of the edges, [M,E] by edge number, of the nodes' dtype or wide (bfloat16 is widened for each
  /// pass: 4 M E bytes), and what they are multiplied with, both or neither; each attention says to what end.
  Var edge_attr = {};
  Var edge_weight = {};
};

}  // namespace adj
