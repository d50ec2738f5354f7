#include <adjoint/autograd/tape.h>
#include <adjoint/autograd/variable.h>
#include <adjoint/core/allocator.h>
#include <adjoint/kernels/elementwise/elementwise.h>

#include <atomic>
#include <queue>
#include <utility>

namespace adj {

namespace detail {

/// Where the gradient of one variable collects, and the op that will take it on from there. Ops refer to
/// their inputs' slots and not to the inputs, so that a value nobody saved is freed as soon as the program
/// lets go of it.
struct GradientSlot {
  bool required = false;
  Shape shape;
  DType dtype = DType::f32;
  Tensor gradient;
  std::shared_ptr<Node> node;  // null for a leaf
};

struct VarImpl {
  Tensor value;
  std::shared_ptr<GradientSlot> slot = std::make_shared<GradientSlot>();
};

struct Node {
  const char* name = "";
  uint64_t number = 0;  // in the order of recording: an op comes after all that it depends on
  std::vector<std::shared_ptr<GradientSlot>> inputs;
  Backward backward;
  GradientSlot* output = nullptr;

  // A long chain of ops must not unwind one destructor inside another.
  ~Node() {
    std::vector<std::shared_ptr<GradientSlot>> pending = std::move(inputs);
    while (!pending.empty()) {
      const std::shared_ptr<GradientSlot> slot = std::move(pending.back());
      pending.pop_back();
      if (slot.use_count() == 1 && slot->node && slot->node.use_count() == 1)
        for (auto& input : slot->node->inputs) pending.push_back(std::move(input));
    }
  }
};

namespace {
thread_local bool no_grad = false;
thread_local const char* op_going_backward = "";
std::atomic<uint64_t> next_number{0};
}  // namespace

}  // namespace detail

using detail::GradientSlot;
using detail::Node;
using detail::VarImpl;

NoGrad::NoGrad() : outer_(std::exchange(detail::no_grad, true)) {}
NoGrad::~NoGrad() { detail::no_grad = outer_; }
bool NoGrad::in_force() { return detail::no_grad; }

/// What tape.h and backward() may see of a Var.
class TapeAccess {
 public:
  static std::shared_ptr<GradientSlot> slot(const Var& var) { return var.impl_ ? var.impl_->slot : nullptr; }
};

Var::Var(Tensor value) : impl_(std::make_shared<VarImpl>()) {
  impl_->slot->shape = value.shape();
  impl_->slot->dtype = value.dtype();
  impl_->value = std::move(value);
}
Var Var::parameter(Tensor value) {
  ADJ_CHECK(is_floating(value.dtype()), "parameter: expected a floating type, got {}", value.str());
  Var var(std::move(value));
  var.impl_->slot->required = true;
  return var;
}

const Tensor& Var::value() const {
  ADJ_CHECK(impl_ != nullptr, "variable: no value behind a default-constructed variable");
  return impl_->value;
}
Shape Var::shape() const {
  ADJ_CHECK(impl_ != nullptr, "variable: no shape behind a default-constructed variable");
  return impl_->slot->shape;
}
DType Var::dtype() const { return value().dtype(); }
Device Var::device() const { return value().device(); }
bool Var::requires_grad() const { return impl_ && impl_->slot->required; }

const Tensor& Var::grad() const {
  ADJ_CHECK(impl_ != nullptr, "variable: no gradient behind a default-constructed variable");
  return impl_->slot->gradient;
}
void Var::set_grad(Tensor grad) {
  ADJ_CHECK(requires_grad(), "set_grad: the variable takes no gradient");
  ADJ_CHECK(grad && grad.shape() == shape() && grad.dtype() == dtype() && grad.device() == device(),
            "set_grad: gradient {} for a value {}", grad.str(), value().str());
  impl_->slot->gradient = std::move(grad);
}
void Var::zero_grad() {
  if (impl_) impl_->slot->gradient = {};
}
void Var::set_value(Tensor value) {
  ADJ_CHECK(impl_ && !impl_->slot->node, "set_value: only a leaf can be given another value");
  impl_->slot->shape = value.shape();
  impl_->slot->dtype = value.dtype();
  impl_->slot->gradient = {};
  impl_->value = std::move(value);
}
Var Var::detach() const { return Var(value()); }

void Var::backward() const {
  ADJ_CHECK(value().numel() == 1, "backward: expected a scalar, got shape {} (or give a seed gradient)",
            shape().str());
  backward(Tensor::full(shape(), 1.0, dtype(), device()));
}

void Var::backward(Tensor seed) const {
  ADJ_CHECK(requires_grad(), "backward: nothing that this variable was computed from requires a gradient");
  ADJ_CHECK(seed.shape() == shape() && seed.dtype() == dtype() && seed.device() == device(),
            "backward: seed gradient {} for a value {}", seed.str(), value().str());
  const NoGrad nothing_is_recorded;
  std::vector<std::shared_ptr<GradientSlot>> root{impl_->slot};
  Gradients(root).add(0, std::move(seed));
  if (!impl_->slot->node) return;

  const auto earlier = [](const auto& a, const auto& b) { return a->number < b->number; };
  std::priority_queue<std::shared_ptr<Node>, std::vector<std::shared_ptr<Node>>, decltype(earlier)> ready(
      earlier);
  ready.push(impl_->slot->node);
  const Node* previous = nullptr;
  while (!ready.empty()) {
    const std::shared_ptr<Node> node = ready.top();
    ready.pop();
    if (node.get() == previous) continue;  // reached by several paths
    previous = node.get();
    ADJ_CHECK(node->backward != nullptr, "backward: {} was passed already and its saved tensors are gone",
              node->name);
    Tensor dy = std::move(node->output->gradient);
    node->output->gradient = {};
    if (!dy) continue;  // its only users wanted no gradient of it
    {
      const AllocationScope scope(node->name);
      // Moved out first: what the op saved is freed when it returns, before the ops below it allocate.
      const Backward backward = std::exchange(node->backward, nullptr);
      Gradients gradients(node->inputs);
      detail::op_going_backward = node->name;
      backward(std::move(dy), gradients);
    }
    for (const auto& input : node->inputs)
      if (input && input->node && input->gradient) ready.push(input->node);
  }
}

const Tensor& Saved::get() const {
  ADJ_CHECK(tensor_.version() == version_,
            "backward: {} had saved a tensor {} that was changed in place before the backward pass used it",
            detail::op_going_backward, tensor_.str());
  return tensor_;
}

bool Gradients::wanted(size_t input) const { return inputs_.at(input) && inputs_[input]->required; }

void Gradients::add(size_t input, Tensor gradient) {
  if (!wanted(input)) return;
  GradientSlot& slot = *inputs_[input];
  ADJ_CHECK(gradient.shape() == slot.shape && gradient.dtype() == slot.dtype,
            "backward: gradient {} for a value {} {}", gradient.str(), slot.shape.str(), name_of(slot.dtype));
  if (!slot.gradient) {
    slot.gradient = std::move(gradient);
    return;
  }
  // Another variable may hold the same tensor as its gradient: only an unshared one is added to in place.
  Tensor sum = reuse(slot.gradient);
  kernels::linear_combination({.alpha = 1.0, .a = slot.gradient, .beta = 1.0, .b = gradient, .y = sum});
  slot.gradient = std::move(sum);
}

bool recording(std::initializer_list<Var> inputs) {
  if (NoGrad::in_force()) return false;
  for (const Var& input : inputs)
    if (input.requires_grad()) return true;
  return false;
}

namespace {

template <class Range>
Var record_range(const char* name, Tensor value, const Range& inputs, Backward backward) {
  Var result(std::move(value));
  bool required = false;
  for (const Var& input : inputs) required = required || input.requires_grad();
  if (!required || NoGrad::in_force()) return result;
  const auto slot = TapeAccess::slot(result);
  slot->required = true;
  slot->node = std::make_shared<Node>();
  slot->node->name = name;
  slot->node->number = detail::next_number.fetch_add(1);
  slot->node->backward = std::move(backward);
  slot->node->output = slot.get();
  for (const Var& input : inputs) slot->node->inputs.push_back(TapeAccess::slot(input));
  return result;
}

}  // namespace

Var record(const char* name, Tensor value, std::initializer_list<Var> inputs, Backward backward) {
  return record_range(name, std::move(value), inputs, std::move(backward));
}
Var record(const char* name, Tensor value, const std::vector<Var>& inputs, Backward backward) {
  return record_range(name, std::move(value), inputs, std::move(backward));
}

Tensor reuse(const Tensor& dy) { return dy.is_unique() ? dy : Tensor::empty_like(dy); }

void check_same_device(const char* op, std::initializer_list<Var> inputs) {
  const Var* first = nullptr;
  for (const Var& input : inputs) {
    if (!input) continue;
    if (first == nullptr) first = &input;
    ADJ_CHECK(input.device() == first->device(), "{}: inputs are on {} and {}", op, first->device().str(),
              input.device().str());
    ADJ_CHECK(input.dtype() == first->dtype(), "{}: inputs are {} and {}, expected one dtype", op,
              first->value().str(), input.value().str());
  }
}

}  // namespace adj
