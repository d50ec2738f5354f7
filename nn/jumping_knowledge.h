#pragma once

#include <adjoint/nn/linear.h>
#include <adjoint/nn/lstm.h>

#include <optional>
#include <vector>

namespace adj::nn {

/// What all layers of a network give, as one (Xu et al., Representation Learning on Graphs with Jumping
/// Knowledge Networks, 2018).
enum class Jump : uint8_t {
  cat,   ///< side by side: [N, F_1 + F_2 + …]
  max,   ///< the largest of each element, [N, F]; of equal ones the first takes the gradient
  lstm,  ///< their sum, [N, F], weighed for each node by what an LSTM reads in its layers
};

/// xs[l] [N, F_l], of one width for `max`; at least one. An `lstm` has parameters: JumpingKnowledge.
Var jumping_knowledge(Jump mode, const std::vector<Var>& xs);

/// PyG's JumpingKnowledge. With `lstm`, Σ_l α_l x_l with α = softmax over the layers of h_l a + b, where h_l
/// is what an LSTM of 2 ⌊num_layers channels / 2⌋ features gives at layer l of the node; `att` is uniform in
/// ±1 / sqrt(in), as torch.nn.Linear. `cat` and `max` have no parameters, and take no sizes.
class JumpingKnowledge : public Module {
 public:
  explicit JumpingKnowledge(Jump mode, int64_t channels = 0, int64_t num_layers = 0);
  /// xs[l] [N, F_l]; for `lstm` [N, channels]. At least one; `num_layers` sizes the LSTM, and they may be
  /// fewer or more, as in PyG.
  Var operator()(const std::vector<Var>& xs) const;
  std::string describe() const override;

 private:
  Jump mode_;
  int64_t channels_, num_layers_;

 public:
  std::optional<Child<LSTM>> lstm;   ///< of `lstm`
  std::optional<Child<Linear>> att;  ///< likewise, [2 hidden, 1]
};

}  // namespace adj::nn
