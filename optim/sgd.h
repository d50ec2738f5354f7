#pragma once

#include <adjoint/optim/optimizer.h>

namespace adj::optim {

/// Options of SGD: rate `lr` > 0, `momentum` μ in [0, 1), `weight_decay` λ >= 0, and `nesterov` for the
/// second formula. The constructors throw for other values.
struct SGDOptions {
  double lr = 0.01;
  double momentum = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
};

/// v = μ v + (g + λ p); p -= lr v (Nesterov: p -= lr (g + λ p + μ v), requires a momentum above 0).
class SGD : public Optimizer {
 public:
  explicit SGD(const std::vector<Var>& parameters, SGDOptions options = {});
  explicit SGD(const std::vector<Group<SGDOptions>>& groups);

 protected:
  void update(size_t group, std::span<kernels::UpdateSlot> slots, const Tensor& rate, Tensor& steps) override;

 private:
  std::vector<kernels::SgdRule> rules_;
};

}  // namespace adj::optim
