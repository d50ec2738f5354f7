#include <adjoint/kernels/update/optimizer.h>
#include <adjoint/optim/adam.h>

namespace adj::optim {

Adam::Adam(const std::vector<Var>& parameters, AdamOptions options)
    : Adam(std::vector<Group<AdamOptions>>{{parameters, options}}) {}

Adam::Adam(const std::vector<Group<AdamOptions>>& groups) : Adam(groups, false) {}

Adam::Adam(const std::vector<Group<AdamOptions>>& groups, bool decoupled) {
  for (const auto& [parameters, options] : groups) {
    ADJ_CHECK(options.beta1 >= 0.0 && options.beta1 < 1.0 && options.beta2 >= 0.0 && options.beta2 < 1.0,
              "Adam: expected betas in [0, 1), got {} and {}", options.beta1, options.beta2);
    ADJ_CHECK(options.eps > 0.0, "Adam: expected a positive eps, got {}", options.eps);
    ADJ_CHECK(options.weight_decay >= 0.0, "Adam: negative weight decay {}", options.weight_decay);
    add_group(parameters, options.lr, 2);
    rules_.push_back({options.beta1, options.beta2, options.eps, options.weight_decay, decoupled});
  }
}

void Adam::update(size_t group, std::span<kernels::UpdateSlot> slots, const Tensor& rate, Tensor& steps) {
  kernels::adam_update({.slots = slots, .rule = rules_[group], .learning_rate = rate, .step = steps});
}

}  // namespace adj::optim
