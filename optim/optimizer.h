#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/kernels/update/optimizer.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace adj::optim {

/// Parameters that share their options: Kipf's GCN decays the first layer only.
template <class Options>
struct Group {
  std::vector<Var> parameters;
  Options options;
};

/// Common to all optimizers. Step count and learning rate live on the parameters' device, so that a captured
/// step advances and a schedule reaches it. Parameters in bfloat16 have their moments, and a master of which
/// they are the rounding, in float32; weights that are loaded after the optimizer was made replace the
/// masters.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that has a gradient, and clears the gradients (no zero_grad() is needed): until
  /// then backward() calls add up, so several of them make one step over their sum.
  void step();
  /// Clears the gradients without a step.
  void zero_grad();

  size_t num_groups() const { return groups_.size(); }
  /// What the next step takes: the group's own rate times the factor.
  double learning_rate(size_t group = 0) const { return groups_.at(group).base_rate * factor_; }
  /// Gives every group, or one, another rate of its own in place of the one from construction. What a
  /// schedule set stays on top: the rate is `lr` itself where there is none.
  void set_lr(double lr);
  void set_lr(double lr, size_t group);
  /// Scales every group's own rate by `factor`: what schedules call.
  void set_rate_factor(double factor);
  double rate_factor() const { return factor_; }
  std::vector<Var> parameters() const;

  /// Moments, masters, step counts, learning rates and the factor by name. The tensors are the optimizer's
  /// own.
  std::vector<std::pair<std::string, Tensor>> state() const;
  /// Throws, naming the first culprit, where names or shapes are not this optimizer's; then nothing was
  /// changed.
  void load_state(const std::map<std::string, Tensor>& state);

 protected:
  struct GroupState {
    std::vector<Var> parameters;
    std::vector<kernels::UpdateSlot>
        slots;  // one a parameter; its gradient is set for the duration of a step
    double base_rate = 0.0;
    Tensor base_state;  // likewise, float64 [1] on the CPU
    Tensor rate;        // base rate times factor: float64 [1]
    Tensor steps;       // int64 [1]
  };

  Optimizer() = default;
  /// `moments`: how many tensors of state each parameter has (0 to 2). Throws for a parameter that stands
  /// twice, in this group or in another.
  void add_group(const std::vector<Var>& parameters, double learning_rate, int moments);
  virtual void update(size_t group, std::span<kernels::UpdateSlot> slots, const Tensor& rate,
                      Tensor& steps) = 0;

 private:
  std::vector<GroupState> groups_;
  std::set<uint64_t> taken_;  // storages of the groups' parameters
  double factor_ = 1.0;
  Tensor factor_state_ = Tensor::full({1}, 1.0, DType::f64);
};

/// L2 norm of all gradients together; where it exceeds `max_norm` they are scaled to it (Pascanu et al.
/// 2013). Call between backward() and step(). The norm stays on the device until read.
Tensor clip_grad_norm(const std::vector<Var>& parameters, double max_norm);

}  // namespace adj::optim
