#pragma once

#include <adjoint/nn/module.h>

#include <vector>

namespace adj::nn {

/// What all layers of a network give, as one (Xu et al., Representation Learning on Graphs with Jumping
/// Knowledge Networks, 2018; PyG's JumpingKnowledge, whose LSTM is not here).
enum class Jump : uint8_t {
  cat,  ///< side by side: [N, F_1 + F_2 + …]
  max,  ///< the largest of each element, [N, F]; of equal ones the first takes the gradient
};

/// xs[l] [N, F_l], of one width for `max`; at least one.
Var jumping_knowledge(Jump mode, const std::vector<Var>& xs);

}  // namespace adj::nn
