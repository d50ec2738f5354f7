#include <adjoint/optim/sgd.h>

namespace adj::optim {

Sgd::Sgd(const std::vector<Var>& parameters, SgdOptions options)
    : Sgd(std::vector<Group<SgdOptions>>{{parameters, options}}) {}

Sgd::Sgd(const std::vector<Group<SgdOptions>>& groups) {
  for (const auto& [parameters, options] : groups) {
    ADJ_CHECK(options.momentum >= 0.0 && options.momentum < 1.0, "Sgd: expected a momentum in [0, 1), got {}",
              options.momentum);
    ADJ_CHECK(options.weight_decay >= 0.0, "Sgd: negative weight decay {}", options.weight_decay);
    add_group(parameters, options.lr, options.momentum > 0.0 ? 1 : 0);
    rules_.push_back({options.momentum, options.weight_decay, options.nesterov});
  }
}

void Sgd::update(size_t group, std::span<kernels::UpdateSlot> slots, const Tensor& rate, Tensor& steps) {
  kernels::sgd_update({.slots = slots, .rule = rules_[group], .learning_rate = rate, .step = steps});
}

}  // namespace adj::optim
