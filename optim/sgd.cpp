#include <adjoint/kernels/update/optimizer.h>
#include <adjoint/optim/sgd.h>

namespace adj::optim {

SGD::SGD(const std::vector<Var>& parameters, SGDOptions options)
    : SGD(std::vector<Group<SGDOptions>>{{parameters, options}}) {}

SGD::SGD(const std::vector<Group<SGDOptions>>& groups) {
  for (const auto& [parameters, options] : groups) {
    ADJ_CHECK(options.momentum >= 0.0 && options.momentum < 1.0, "SGD: expected a momentum in [0, 1), got {}",
              options.momentum);
    ADJ_CHECK(options.weight_decay >= 0.0, "SGD: negative weight decay {}", options.weight_decay);
    ADJ_CHECK(!options.nesterov || options.momentum > 0.0,
              "SGD: nesterov with a momentum of 0, expected one above 0");
    add_group(parameters, options.lr, options.momentum > 0.0 ? 1 : 0);
    rules_.push_back({options.momentum, options.weight_decay, options.nesterov});
  }
}

void SGD::update(size_t group, std::span<kernels::UpdateSlot> slots, const Tensor& rate, Tensor& steps) {
  kernels::sgd_update({.slots = slots, .rule = rules_[group], .learning_rate = rate, .step = steps});
}

}  // namespace adj::optim
