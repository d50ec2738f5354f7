#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/kernels/types/optimizer.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace adj::optim {

/// The `parameters` that have common options: Kipf's GCN decays only the first layer.
template <class Options>
struct Group {
  std::vector<Var> parameters;
  Options options;
};

/// Base class of the optimizers. Step count and learning rate are kept on the parameters' device, so that a
/// captured step can advance and schedules take effect. bfloat16 parameters have float32 moments and a
/// float32 master, which they round; weights loaded after the optimizer's construction replace
/// the masters.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that has a gradient, and clears the gradients (no zero_grad() needed). Several
  /// backward() calls before it accumulate into one step.
  void step();
  /// One step for some rows of the only parameter [N,D] of a group: row k of `gradient` [K,D] belongs to row
  /// rows[k], int32 [K], or to none if that is -1. Other rows and their moments stay as they are. For
  /// embeddings of which a batch has few; throws for SGD, and for a group of several parameters. `distinct`:
  /// no row is there twice, so that nothing is sorted; it is not checked on a GPU.
  void step_rows(size_t group, const Tensor& rows, const Tensor& gradient, bool distinct = false);
  /// Clears the gradients without a step.
  void zero_grad();

  size_t num_groups() const { return groups_.size(); }  ///< number of groups, which the constructor got
  /// Rate of the next step: the group's own rate times the factor.
  double learning_rate(size_t group = 0) const { return groups_.at(group).base_rate * factor_; }
  /// Replaces the own rate of every group, or of one. The schedule's factor still applies; without a schedule
  /// the rate is `lr`.
  void set_lr(double lr);
  void set_lr(double lr, size_t group);
  /// Scales every group's own rate by `factor`; called by schedules.
  void set_rate_factor(double factor);
  double rate_factor() const { return factor_; }  ///< 1 without a schedule
  std::vector<Var> parameters() const;

  /// Moments, masters, step counts, learning rates and the factor by name. The tensors are the optimizer's
  /// own.
  std::vector<std::pair<std::string, Tensor>> state() const;
  /// Throws if names or shapes are not this optimizer's, naming the first mismatch; then nothing is changed.
  void load_state(const std::map<std::string, Tensor>& state);

 protected:
  struct GroupState {
    std::vector<Var> parameters;             ///< on one device, as `rate` and `steps`
    std::vector<kernels::UpdateSlot> slots;  ///< one per parameter; its gradient is set only during a step
    double base_rate = 0.0;                  ///< the group's own rate, without the factor
    Tensor base_state;                       ///< base_rate as float64 [1] on the CPU
    Tensor rate;                             ///< base rate times factor: float64 [1]
    Tensor steps;                            ///< finished ones: int64 [1]
  };

  Optimizer() = default;
  /// `moments`: state tensors per parameter (0 to 2). Throws for a parameter that is repeated, in this group
  /// or another.
  void add_group(const std::vector<Var>& parameters, double learning_rate, int moments);
  virtual void update(size_t group, std::span<kernels::UpdateSlot> slots, const Tensor& rate,
                      Tensor& steps) = 0;
  /// step_rows() by the rule of the group.
  virtual void update_rows(size_t group, kernels::UpdateSlot& slot, const Tensor& rows, const Tensor& rate,
                           Tensor& steps, bool distinct);

 private:
  std::vector<GroupState> groups_;
  std::set<uint64_t> taken_;  // storages of the groups' parameters
  double factor_ = 1.0;
  Tensor factor_state_ = Tensor::full({1}, 1.0, DType::f64);
};

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
  explicit SGD(const std::vector<Var>& parameters, SGDOptions options = {})
      : SGD(std::vector<Group<SGDOptions>>{{parameters, options}}) {}
  explicit SGD(const std::vector<Group<SGDOptions>>& groups);

 protected:
  void update(size_t group, std::span<kernels::UpdateSlot> slots, const Tensor& rate, Tensor& steps) override;

 private:
  std::vector<kernels::SgdRule> rules_;
};

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
  explicit Adam(const std::vector<Var>& parameters, AdamOptions options = {})
      : Adam(std::vector<Group<AdamOptions>>{{parameters, options}}) {}
  explicit Adam(const std::vector<Group<AdamOptions>>& groups) : Adam(groups, false) {}

 protected:
  Adam(const std::vector<Group<AdamOptions>>& groups, bool decoupled);
  void update(size_t group, std::span<kernels::UpdateSlot> slots, const Tensor& rate, Tensor& steps) override;
  void update_rows(size_t group, kernels::UpdateSlot& slot, const Tensor& rows, const Tensor& rate,
                   Tensor& steps, bool distinct) override;

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

/// Options of Adagrad: rate `lr` > 0, `eps` > 0, added to the root; `weight_decay` >= 0. The constructors
/// throw for other values.
struct AdagradOptions {
  double lr = 1e-2;
  double eps = 1e-10;
  double weight_decay = 0.0;
};

/// Adagrad (Duchi et al. 2011): every weight's step is divided by the root of the sum of its squared
/// gradients; weight decay is added to the gradient.
class Adagrad : public Optimizer {
 public:
  explicit Adagrad(const std::vector<Var>& parameters, AdagradOptions options = {})
      : Adagrad(std::vector<Group<AdagradOptions>>{{parameters, options}}) {}
  explicit Adagrad(const std::vector<Group<AdagradOptions>>& groups);

 protected:
  void update(size_t group, std::span<kernels::UpdateSlot> slots, const Tensor& rate, Tensor& steps) override;
  void update_rows(size_t group, kernels::UpdateSlot& slot, const Tensor& rows, const Tensor& rate,
                   Tensor& steps, bool distinct) override;

 private:
  std::vector<kernels::AdagradRule> rules_;
};

/// L2 norm of all gradients together; above `max_norm` they are scaled to it (Pascanu et al. 2013). Call
/// between backward() and step(). The norm stays on the device until read.
Tensor clip_grad_norm(const std::vector<Var>& parameters, double max_norm);

}  // namespace adj::optim
