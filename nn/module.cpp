#include <adjoint/nn/module.h>

#include <set>

namespace adj::nn {

Module::~Module() {
  if (parent_ != nullptr) std::erase_if(parent_->children_, [&](const auto& c) { return c.second == this; });
  for (const auto& [name, child] : children_)
    child->parent_ = nullptr;  // the child outlives its parent
                               // (Owned)
}

// Calls f(prefix, module) for this module and all below it.
template <class F>
void Module::visit(const std::string& prefix, F&& f) const {
  f(prefix, *this);
  for (const auto& [name, child] : children_) child->visit(prefix + name + ".", f);
}

std::vector<std::pair<std::string, Var>> Module::named_parameters() const {
  std::vector<std::pair<std::string, Var>> found;
  std::set<const void*> seen;
  visit("", [&](const std::string& prefix, const Module& module) {
    for (const auto& [name, var] : module.parameters_)
      if (seen.insert(var->id()).second) found.emplace_back(prefix + name, *var);
  });
  return found;
}

std::vector<Var> Module::parameters() const {
  std::vector<Var> found;
  for (auto& [name, var] : named_parameters()) found.push_back(std::move(var));
  return found;
}

int64_t Module::num_parameters() const {
  int64_t count = 0;
  for (const Var& var : parameters()) count += var.value().numel();
  return count;
}

std::vector<std::pair<std::string, Tensor>> Module::state() const {
  std::vector<std::pair<std::string, Tensor>> found;
  visit("", [&](const std::string& prefix, const Module& module) {
    for (const auto& [name, var] : module.parameters_) found.emplace_back(prefix + name, var->value());
    for (const auto& [name, tensor] : module.buffers_) found.emplace_back(prefix + name, *tensor);
  });
  return found;
}

std::vector<PygLayout> Module::pyg_layout() const {
  std::vector<PygLayout> found;
  visit("", [&](const std::string& prefix, const Module& module) {
    for (const auto& [name, var] : module.parameters_) {
      const auto known = module.pyg_.find(name);
      PygLayout layout = known == module.pyg_.end() ? PygLayout{} : known->second;
      layout.name = prefix + (layout.name.empty() ? name : layout.name);
      found.push_back(std::move(layout));
    }
    for (const auto& [name, tensor] : module.buffers_) found.push_back({.name = prefix + name});
  });
  return found;
}

void Module::check_state(const std::map<std::string, Tensor>& state) const {
  std::set<std::string> names;
  for (const auto& [name, tensor] : this->state()) {
    names.insert(name);
    const auto it = state.find(name);
    ADJ_CHECK(it != state.end(), "load_state: {} is missing", name);
    ADJ_CHECK(it->second.shape() == tensor.shape() && it->second.dtype() == tensor.dtype(),
              "load_state: {} is {} {}, the model has {} {}", name, it->second.shape().str(),
              name_of(it->second.dtype()), tensor.shape().str(), name_of(tensor.dtype()));
  }
  for (const auto& [name, tensor] : state)
    ADJ_CHECK(names.contains(name), "load_state: the model has no {}", name);
}

void Module::load_state(const std::map<std::string, Tensor>& state) {
  check_state(state);
  for (auto& [name, tensor] : this->state()) tensor.copy_(state.at(name));
}

void Module::train(bool mode) {
  training_ = mode;
  for (const auto& [name, child] : children_) child->train(mode);
}

void Module::to(Device device) {
  for (const auto& [name, var] : parameters_) var->set_value(var->value().to(device));
  for (const auto& [name, tensor] : buffers_) *tensor = tensor->to(device);
  for (const auto& [name, child] : children_) child->to(device);
}

void Module::to(DType dtype) {
  ADJ_CHECK(is_floating(dtype), "module: to({}), expected float32, float64 or bfloat16", name_of(dtype));
  visit("", [&](const std::string&, const Module& module) {
    for (const auto& [name, var] : module.parameters_) var->set_value(var->value().to(dtype));
    for (const auto& [name, tensor] : module.buffers_)
      if (is_floating(tensor->dtype())) *tensor = tensor->to(dtype == DType::bf16 ? DType::f32 : dtype);
  });
}

void Module::zero_grad() {
  for (Var& var : parameters()) var.zero_grad();
}

std::string Module::str() const {
  std::string text = describe();
  if (const int64_t count = num_parameters(); count > 0)
    text += fmt::format(", {} parameter{}", count, count == 1 ? "" : "s");
  for (const auto& [name, child] : children_) {
    std::string below = child->str();
    for (size_t position = below.find('\n'); position != std::string::npos;
         position = below.find('\n', position + 3))
      below.insert(position + 1, "  ");
    text += "\n  " + name + ": " + below;
  }
  return text;
}

void Module::check_new(const std::string& name, const void* member) const {
  ADJ_CHECK(!name.empty() && name.find_first_of("./") == std::string::npos,
            "module: expected a name without '.' and '/', got '{}'", name);
  const auto check = [&](const auto& registered) {
    for (const auto& [taken, other] : registered) {
      ADJ_CHECK(taken != name, "module: two members are named '{}'", name);
      ADJ_CHECK(other != member, "module: the member '{}' is registered again, as '{}'", taken, name);
    }
  };
  check(parameters_);
  check(buffers_);
  check(children_);
}

void Module::add_parameter(std::string name, Var& member, Tensor value, PygLayout pyg) {
  check_new(name, &member);
  member = Var::parameter(std::move(value));
  if (pyg.transposed || !pyg.name.empty()) pyg_.emplace(name, std::move(pyg));
  parameters_.emplace_back(std::move(name), &member);
}

void Module::add_buffer(std::string name, Tensor& member, Tensor value) {
  check_new(name, &member);
  member = std::move(value);
  buffers_.emplace_back(std::move(name), &member);
}

void Module::add_child(std::string name, Module& child) {
  check_new(name, &child);
  children_.emplace_back(std::move(name), &child);
  child.parent_ = this;
  if (child.training_ != training_) child.train(training_);
}

}  // namespace adj::nn
