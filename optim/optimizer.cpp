#include <adjoint/kernels/update/optimizer.h>
#include <adjoint/kernels/update/sparse_update.h>
#include <adjoint/optim/optimizer.h>

#include <cmath>
#include <set>

namespace adj::optim {

namespace {

void check_rate(const char* op, const char* what, double rate) {
  ADJ_CHECK(std::isfinite(rate) && rate >= 0.0, "{}: expected a {} of 0 or more, got {}", op, what, rate);
}

}  // namespace

void Optimizer::add_group(const std::vector<Var>& parameters, double learning_rate, int moments) {
  ADJ_CHECK(!parameters.empty(), "optimizer: a group has no parameters");
  ADJ_CHECK(std::isfinite(learning_rate) && learning_rate > 0.0,
            "optimizer: expected a positive learning rate, got {}", learning_rate);
  GroupState group;
  group.parameters = parameters;
  group.base_rate = learning_rate;
  const Device device = parameters[0].device();
  for (const Var& parameter : parameters) {
    ADJ_CHECK(parameter.requires_grad(), "optimizer: a parameter {} takes no gradient",
              parameter.value().str());
    ADJ_CHECK(taken_.insert(parameter.value().storage_id()).second,
              "optimizer: duplicate parameter {}, in one group or in two", parameter.value().str());
    ADJ_CHECK(parameter.device() == device, "optimizer: a group's parameters are on {} and {}", device.str(),
              parameter.device().str());
    kernels::UpdateSlot slot{.parameter = parameter.value()};
    const bool narrow = parameter.dtype() == DType::bf16;
    const DType state = narrow ? DType::f32 : parameter.dtype();
    if (moments >= 1) slot.first = Tensor::zeros(parameter.shape(), state, device);
    if (moments >= 2) slot.second = Tensor::zeros(parameter.shape(), state, device);
    if (narrow) slot.master = parameter.value().to(state);
    group.slots.push_back(slot);
  }
  group.base_state = Tensor::full({1}, learning_rate, DType::f64);
  group.rate = Tensor::full({1}, learning_rate, DType::f64, device);
  group.steps = Tensor::zeros({1}, DType::i64, device);
  groups_.push_back(std::move(group));
}

void Optimizer::step() {
  for (size_t g = 0; g < groups_.size(); ++g) {
    GroupState& group = groups_[g];
    std::vector<kernels::UpdateSlot> due;
    for (size_t i = 0; i < group.parameters.size(); ++i) {
      Var& parameter = group.parameters[i];
      if (!parameter.grad()) continue;
      ADJ_CHECK(parameter.value().shares_storage_with(group.slots[i].parameter),
                "optimizer: a parameter {} was given another value (moved to a device?) after the optimizer "
                "was made",
                parameter.value().str());
      due.push_back(group.slots[i]);
      due.back().gradient = parameter.grad();
      parameter.zero_grad();
    }
    if (!due.empty()) update(g, due, group.rate, group.steps);
  }
}

void Optimizer::step_rows(size_t g, const Tensor& rows, const Tensor& gradient, bool distinct) {
  GroupState& group = groups_.at(g);
  ADJ_CHECK(group.slots.size() == 1, "optimizer: step_rows for a group of {} parameters, expected one",
            group.slots.size());
  kernels::UpdateSlot slot = group.slots[0];
  slot.gradient = gradient;
  update_rows(g, slot, rows, group.rate, group.steps, distinct);
}

void Optimizer::update_rows(size_t, kernels::UpdateSlot&, const Tensor&, const Tensor&, Tensor&, bool) {
  fail("optimizer: step_rows is for Adam, AdamW and Adagrad");
}

void Optimizer::zero_grad() {
  for (GroupState& group : groups_)
    for (Var& parameter : group.parameters) parameter.zero_grad();
}

void Optimizer::set_lr(double lr) {
  for (size_t g = 0; g < groups_.size(); ++g) set_lr(lr, g);
}

void Optimizer::set_lr(double lr, size_t g) {
  check_rate("optimizer", "learning rate", lr);
  GroupState& group = groups_.at(g);
  if (lr == group.base_rate) return;
  group.base_rate = lr;
  group.base_state.fill_(lr);
  group.rate.fill_(lr * factor_);
}

void Optimizer::set_rate_factor(double factor) {
  check_rate("optimizer", "rate factor", factor);
  if (factor == factor_) return;
  factor_ = factor;
  factor_state_.fill_(factor);
  for (GroupState& group : groups_) group.rate.fill_(group.base_rate * factor);
}

std::vector<Var> Optimizer::parameters() const {
  std::vector<Var> all;
  for (const GroupState& group : groups_)
    all.insert(all.end(), group.parameters.begin(), group.parameters.end());
  return all;
}

std::vector<std::pair<std::string, Tensor>> Optimizer::state() const {
  std::vector<std::pair<std::string, Tensor>> found{{"rate_factor", factor_state_}};
  for (size_t g = 0; g < groups_.size(); ++g) {
    found.emplace_back(fmt::format("{}.lr", g), groups_[g].base_state);
    found.emplace_back(fmt::format("{}.steps", g), groups_[g].steps);
    for (size_t i = 0; i < groups_[g].slots.size(); ++i) {
      const kernels::UpdateSlot& slot = groups_[g].slots[i];
      if (slot.first) found.emplace_back(fmt::format("{}.{}.first", g, i), slot.first);
      if (slot.second) found.emplace_back(fmt::format("{}.{}.second", g, i), slot.second);
      if (slot.master) found.emplace_back(fmt::format("{}.{}.master", g, i), slot.master);
    }
  }
  return found;
}

void Optimizer::load_state(const std::map<std::string, Tensor>& state) {
  auto current = this->state();
  ADJ_CHECK(state.size() == current.size(), "optimizer state: {} tensors given, expected {}", state.size(),
            current.size());
  for (const auto& [name, tensor] : current) {
    const auto it = state.find(name);
    ADJ_CHECK(it != state.end(), "optimizer state: {} is missing", name);
    ADJ_CHECK(it->second.shape() == tensor.shape() && it->second.dtype() == tensor.dtype(),
              "optimizer state: {} is {} {}, expected {} {}", name, it->second.shape().str(),
              name_of(it->second.dtype()), tensor.shape().str(), name_of(tensor.dtype()));
  }
  const double factor = state.at("rate_factor").item();
  check_rate("optimizer state", "rate factor", factor);
  std::vector<double> rates;
  for (size_t g = 0; g < groups_.size(); ++g) {
    rates.push_back(state.at(fmt::format("{}.lr", g)).item());
    check_rate("optimizer state", "learning rate", rates.back());
    const std::string steps = fmt::format("{}.steps", g);
    const auto done = static_cast<int64_t>(state.at(steps).item());
    ADJ_CHECK(done >= 0, "optimizer state: {} is {}, expected 0 or more", steps, done);
  }
  for (auto& [name, tensor] : current)
    if (name != "rate_factor" && !name.ends_with(".lr")) tensor.copy_(state.at(name));
  for (size_t g = 0; g < groups_.size(); ++g) set_lr(rates[g], g);
  set_rate_factor(factor);
}

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

void Adam::update_rows(size_t group, kernels::UpdateSlot& slot, const Tensor& rows, const Tensor& rate,
                       Tensor& steps, bool distinct) {
  kernels::sparse_adam_update({.slot = slot,
                               .rows = rows,
                               .rule = rules_[group],
                               .learning_rate = rate,
                               .step = steps,
                               .distinct = distinct});
}

Adagrad::Adagrad(const std::vector<Group<AdagradOptions>>& groups) {
  for (const auto& [parameters, options] : groups) {
    ADJ_CHECK(options.eps > 0.0, "Adagrad: expected a positive eps, got {}", options.eps);
    ADJ_CHECK(options.weight_decay >= 0.0, "Adagrad: negative weight decay {}", options.weight_decay);
    add_group(parameters, options.lr, 1);
    rules_.push_back({options.eps, options.weight_decay});
  }
}

void Adagrad::update(size_t group, std::span<kernels::UpdateSlot> slots, const Tensor& rate, Tensor& steps) {
  kernels::adagrad_update({.slots = slots, .rule = rules_[group], .learning_rate = rate, .step = steps});
}

void Adagrad::update_rows(size_t group, kernels::UpdateSlot& slot, const Tensor& rows, const Tensor& rate,
                          Tensor& steps, bool distinct) {
  kernels::sparse_adagrad_update({.slot = slot,
                                  .rows = rows,
                                  .rule = rules_[group],
                                  .learning_rate = rate,
                                  .step = steps,
                                  .distinct = distinct});
}

Tensor clip_grad_norm(const std::vector<Var>& parameters, double max_norm) {
  ADJ_CHECK(std::isfinite(max_norm) && max_norm > 0.0, "clip_grad_norm: expected a positive norm, got {}",
            max_norm);
  std::vector<Tensor> gradients;
  std::set<uint64_t> seen;
  for (Var parameter : parameters) {
    if (!parameter.grad() || !seen.insert(parameter.value().storage_id()).second) continue;
    // Two leaves of one sum share their gradient tensor; it must not be scaled twice.
    gradients.push_back(parameter.mutable_grad());
  }
  ADJ_CHECK(!gradients.empty(), "clip_grad_norm: no parameter has a gradient (call it after backward())");
  Tensor norm = Tensor::empty({1}, DType::f64, gradients[0].device());
  kernels::global_norm({.tensors = gradients, .norm = norm});
  kernels::clip_to_norm({.tensors = gradients, .norm = norm, .max_norm = max_norm});
  return norm;
}

}  // namespace adj::optim
