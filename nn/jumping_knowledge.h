#pragma once

#include <adjoint/nn/linear.h>
#include <adjoint/nn/lstm.h>

#include <optional>
#include <vector>

namespace adj::nn {

/// Combines the outputs of all layers of a network (Xu et al., Representation Learning on Graphs with Jumping
/// Knowledge Networks, 2018).
enum class Jump : uint8_t {
  cat,   ///< concatenation: [N, F_1 + F_2 + …]
  max,   ///< elementwise maximum, [N, F]; on ties the first takes the gradient
  lstm,  ///< weighted sum, [N, F]; an LSTM over the node's layers gives the weights
};

/// xs[l] [N, F_l], all of equal width for `max`; at least one. `lstm` has parameters: use JumpingKnowledge.
Var jumping_knowledge(Jump mode, const std::vector<Var>& xs);

/// Options of `lstm`, which requires both.
struct JumpingKnowledgeOptions {
  int64_t channels = 0;    ///< F
  int64_t num_layers = 0;  ///< only sizes the LSTM: it takes fewer layers or more, as in PyG
};

/// PyG's JumpingKnowledge. `lstm`: Σ_l α_l x_l, α = softmax over the layers of h_l a + b, h_l the output at
/// layer l of a bidirectional LSTM of 2 ⌊num_layers channels / 2⌋ features; `att` is uniform in ±1 /
/// sqrt(in), as in torch.nn.Linear. `cat` and `max` have no parameters.
class JumpingKnowledge : public Module {
 public:
  explicit JumpingKnowledge(Jump mode, const JumpingKnowledgeOptions& options = {});
  /// xs[l] [N, F_l], at least one; for `lstm` [N, channels].
  Var operator()(const std::vector<Var>& xs) const;
  std::string describe() const override;

  std::optional<Child<LSTM>> lstm;   ///< `lstm` only
  std::optional<Child<Linear>> att;  ///< `lstm` only, [2 hidden, 1]

 private:
  Jump mode_;
  JumpingKnowledgeOptions options_;
};

}  // namespace adj::nn
