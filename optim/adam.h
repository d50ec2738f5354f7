#pragma once

#include <adjoint/optim/optimizer.h>

namespace adj::optim {

/// Options of Adam and AdamW: rate `lr` > 0; `beta1` and `beta2` in [0, 1), decay of the moments; `eps` > 0,
/// added to the second moment's root; `weight_decay` >= 0. The constructors throw for other values.
struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
};

/// Adam (Kingma & Ba 2015, algorithm 1); weight decay is added to the gradient.
class Adam : public Optimizer {
 public:
  explicit Adam(const std::vector<Var>& parameters, AdamOptions options = {});
  explicit Adam(const std::vector<Group<AdamOptions>>& groups);

 protected:
  Adam(const std::vector<Group<AdamOptions>>& groups, bool decoupled);
  void update(size_t group, std::span<kernels::UpdateSlot> slots, const Tensor& rate, Tensor& steps) override;

 private:
  std::vector<kernels::AdamRule> rules_;
};

/// Adam with decoupled weight decay (Loshchilov & Hutter 2019).
class AdamW : public Adam {
 public:
  explicit AdamW(const std::vector<Var>& parameters, AdamOptions options = {.weight_decay = 0.01})
      : AdamW(std::vector<Group<AdamOptions>>{{parameters, options}}) {}
  explicit AdamW(const std::vector<Group<AdamOptions>>& groups) : Adam(groups, true) {}
};

}  // namespace adj::optim
