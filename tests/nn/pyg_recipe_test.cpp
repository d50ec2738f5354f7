// What recipes are made of beside PyG's: outputs and gradients.
#include "../reference/pyg_case.h"
#include <adjoint/nn/jumping_knowledge.h>
#include <adjoint/nn/norm/graph_norm.h>
#include <adjoint/nn/norm/pair_norm.h>

using namespace adj;
using namespace adj::test;

namespace {

/// Over all rows, and over those of each graph of the generator's batch: 7, 1, none and 12 rows.
template <class Norm>
void compare_norm(const std::string& group, Norm&& norm) {
  for (bool batched : {false, true})
    on_devices(group + (batched ? "_batch" : ""), [&](PygCase& ref) {
      const Var x = ref.in("x");
      const Tensor offsets = Tensor::from(std::vector<int64_t>{0, 7, 8, 8, 20}, x.device());
      ref.load(norm);
      ref.compare(norm, norm(x, batched ? offsets : Tensor()));
    });
}

}  // namespace

TEST_CASE("PairNorm and its gradients equal PyG's") {
  compare_norm("pair_norm/plain", nn::Model<nn::PairNorm>());
  compare_norm("pair_norm/scaled", nn::Model<nn::PairNorm>(nn::PairNormOptions{.scale = 2.5}));
  compare_norm("pair_norm/individually",
               nn::Model<nn::PairNorm>(nn::PairNormOptions{.scale = 0.5, .scale_individually = true}));
}

TEST_CASE("GraphNorm and its gradients equal PyG's") {
  compare_norm("graph_norm", nn::Model<nn::GraphNorm>(5));
}

TEST_CASE("jumping knowledge and its gradients equal PyG's") {
  for (const auto& [name, mode] :
       {std::pair<std::string, nn::Jump>{"cat", nn::Jump::cat}, {"max", nn::Jump::max}})
    on_devices("jumping_knowledge/" + name, [&](PygCase& ref) {
      nn::Model<nn::JumpingKnowledge> layer(mode);
      ref.compare(layer, layer({ref.in("a"), ref.in("b"), ref.in("c")}));
    });
  for (const auto& [name, channels] : {std::pair<std::string, int64_t>{"lstm", 3}, {"lstm_even", 6}})
    on_devices("jumping_knowledge/" + name, [&](PygCase& ref) {
      nn::Model<nn::JumpingKnowledge> layer(nn::Jump::lstm, {.channels = channels, .num_layers = 3});
      ref.load(layer);
      ref.compare(layer, layer({ref.in("a"), ref.in("b"), ref.in("c")}));
    });
}
