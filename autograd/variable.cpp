#include <adjoint/autograd/detail/epilogue.h>
#include <adjoint/autograd/gradient_rollback.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/autograd/variable.h>
#include <adjoint/core/allocator.h>
#include <adjoint/core/print.h>
#include <adjoint/core/profile.h>
#include <adjoint/kernels/elementwise/elementwise.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <ostream>
#include <queue>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace adj {

namespace detail {

/// Callbacks for a leaf's gradient.
struct GradientHooks {
  std::vector<std::pair<uint64_t, std::function<void(const Tensor&)>>> functions;
  uint64_t next = 1;
};

namespace {
thread_local bool no_grad = false;
thread_local const char* op_going_backward = "";
std::atomic<uint64_t> next_number{0};
std::atomic<int64_t> hooks_in_force{0};
}  // namespace

/// Removes its callback when it dies.
struct RegisteredHook {
  std::shared_ptr<GradientHooks> owner;
  uint64_t number;

  ~RegisteredHook() {
    std::erase_if(owner->functions, [this](const auto& f) { return f.first == number; });
    --hooks_in_force;
  }
};

/// Collects the gradient of one variable, and refers to the op that propagates it. Ops hold their inputs'
/// slots, not the inputs, so that a value that is not saved is freed as soon as the program drops it.
struct GradientSlot {
  bool required = false;
  Shape shape;
  DType dtype = DType::f32;
  Tensor gradient;
  std::shared_ptr<Node> node;  // null for a leaf
  Tensor place;                // where the gradient must be stored, if requested
  std::shared_ptr<GradientHooks> hooks;
  uint64_t contributions = 0;  // over all passes
  bool from_relu = false;      // its op is, or ends in, a relu
  bool through_relu = false;   // the gradient has passed it
};

struct VarImpl {
  Tensor value;
  std::shared_ptr<GradientSlot> slot = std::make_shared<GradientSlot>();
};

struct Node {
  const char* name = "";
  uint64_t number = 0;  // in recording order: an op comes after its dependencies
  std::vector<std::shared_ptr<GradientSlot>> inputs;
  Backward backward;
  GradientSlot* output = nullptr;

  // Avoids recursive destructors in a long chain of ops.
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

}  // namespace detail

using detail::GradientSlot;
using detail::Node;
using detail::VarImpl;

namespace detail {

struct GradientJournal {
  std::vector<std::pair<std::shared_ptr<GradientSlot>, Tensor>> before;
};

namespace {
thread_local GradientJournal* journal = nullptr;
}  // namespace

void remember_gradient(const std::shared_ptr<GradientSlot>& leaf) {
  if (journal == nullptr || leaf->node) return;
  for (const auto& [slot, gradient] : journal->before)
    if (slot == leaf) return;
  journal->before.emplace_back(leaf, leaf->gradient);
}

}  // namespace detail

GradientRollback::GradientRollback()
    : journal_(std::make_unique<detail::GradientJournal>()),
      outer_(std::exchange(detail::journal, journal_.get())) {}

GradientRollback::~GradientRollback() {
  detail::journal = outer_;
  for (auto& [slot, gradient] : journal_->before) slot->gradient = std::move(gradient);
}

std::vector<Tensor> GradientRollback::keep() {
  std::vector<Tensor> replaced;
  for (auto& [slot, gradient] : journal_->before)
    if (gradient) replaced.push_back(std::move(gradient));
  journal_->before.clear();
  return replaced;
}

namespace {
thread_local std::vector<const BackwardCalls*> backward_calls;
}  // namespace

BackwardCalls::BackwardCalls(std::function<void()> before, std::function<void()> after)
    : before_(std::move(before)), after_(std::move(after)) {
  backward_calls.push_back(this);
}
BackwardCalls::~BackwardCalls() { std::erase(backward_calls, this); }

namespace {
thread_local const GradientsOnlyOf* only_leaves = nullptr;
}  // namespace

GradientsOnlyOf::GradientsOnlyOf(std::vector<Var> leaves)
    : leaves_(std::move(leaves)), outer_(std::exchange(only_leaves, this)) {}
GradientsOnlyOf::~GradientsOnlyOf() { only_leaves = outer_; }

NoGrad::NoGrad() : outer_(std::exchange(detail::no_grad, true)) {}
NoGrad::~NoGrad() { detail::no_grad = outer_; }
bool NoGrad::in_force() { return detail::no_grad; }

/// Access to Var for tape.h and backward().
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
  ADJ_CHECK(impl_ != nullptr, "variable: a default-constructed variable has no value");
  return impl_->value;
}
Shape Var::shape() const {
  ADJ_CHECK(impl_ != nullptr, "variable: a default-constructed variable has no shape");
  return impl_->slot->shape;
}
DType Var::dtype() const { return value().dtype(); }
Device Var::device() const { return value().device(); }
bool Var::requires_grad() const {
  if (!impl_ || !impl_->slot->required) return false;
  if (only_leaves == nullptr || impl_->slot->node) return true;
  return std::ranges::any_of(only_leaves->leaves_, [&](const Var& leaf) { return leaf.id() == id(); });
}

const Tensor& Var::grad() const {
  ADJ_CHECK(impl_ != nullptr, "variable: a default-constructed variable has no gradient");
  return impl_->slot->gradient;
}
void Var::set_grad(Tensor grad) {
  ADJ_CHECK(requires_grad(), "set_grad: the variable takes no gradient");
  ADJ_CHECK(grad && grad.shape() == shape() && grad.dtype() == dtype() && grad.device() == device(),
            "set_grad: gradient {} for a value {}", grad.str(), value().str());
  detail::remember_gradient(impl_->slot);
  Tensor& place = impl_->slot->place;
  if (place && grad.raw_data() != place.raw_data()) place.copy_(grad);
  impl_->slot->gradient = place ? place : std::move(grad);
}
void Var::zero_grad() {
  if (!impl_) return;
  detail::remember_gradient(impl_->slot);
  impl_->slot->gradient = {};
}
Tensor Var::mutable_grad() {
  const Tensor& gradient = grad();
  if (gradient && !gradient.is_unique() && !impl_->slot->place) {
    detail::remember_gradient(impl_->slot);
    impl_->slot->gradient = gradient.clone();
  }
  return impl_->slot->gradient;
}
void Var::collect_grad_in(Tensor place) {
  ADJ_CHECK(requires_grad() && !impl_->slot->node, "collect_grad_in: only a leaf collects a gradient");
  ADJ_CHECK(!place || (place.shape() == shape() && place.dtype() == dtype() && place.device() == device()),
            "collect_grad_in: a buffer {} for a value {}", place.str(), value().str());
  GradientSlot& slot = *impl_->slot;
  ADJ_CHECK(!place || !slot.place, "collect_grad_in: the gradient of {} already collects in another buffer",
            value().str());
  if (place && slot.gradient) place.copy_(slot.gradient);
  if (slot.gradient) detail::remember_gradient(impl_->slot);
  if (slot.gradient) slot.gradient = place ? place : slot.gradient.clone();
  slot.place = std::move(place);
}
void Var::set_value(Tensor value) {
  ADJ_CHECK(impl_ && !impl_->slot->node, "set_value: only a leaf can get another value");
  const Tensor& place = impl_->slot->place;
  ADJ_CHECK(!place || (place.shape() == value.shape() && place.dtype() == value.dtype() &&
                       place.device() == value.device()),
            "set_value: {} for a variable whose gradient collects in {}", value.str(), place.str());
  detail::remember_gradient(impl_->slot);
  impl_->slot->shape = value.shape();
  impl_->slot->dtype = value.dtype();
  impl_->slot->gradient = {};
  impl_->value = std::move(value);
}
Var Var::detach() const { return Var(value()); }

GradientHook Var::on_gradient(std::function<void(const Tensor&)> f) const {
  ADJ_CHECK(requires_grad() && !impl_->slot->node, "on_gradient: only a leaf collects a gradient");
  auto& hooks = impl_->slot->hooks;
  if (!hooks) hooks = std::make_shared<detail::GradientHooks>();
  const uint64_t number = hooks->next++;
  hooks->functions.emplace_back(number, std::move(f));
  ++detail::hooks_in_force;
  GradientHook hook;
  hook.held_ = {new detail::RegisteredHook{hooks, number}, [](detail::RegisteredHook* held) { delete held; }};
  return hook;
}

namespace {

/// Within one backward pass, calls the hooks of leaves once their last contribution has arrived: counts how
/// often each leaf is an input of reachable ops, and counts down as the pass goes by them. An op that gets no
/// gradient is passed when an earlier recorded one is processed.
class ReadyLeaves {
 public:
  explicit ReadyLeaves(const std::shared_ptr<GradientSlot>& root) {
    if (detail::hooks_in_force == 0) return;
    expect(*root);
    std::vector<Node*> pending{root->node.get()};
    std::unordered_set<const Node*> seen{nullptr};
    while (!pending.empty()) {
      Node* node = pending.back();
      pending.pop_back();
      if (!seen.insert(node).second) continue;
      ahead_.push_back(node);
      for (const auto& input : node->inputs) {
        if (!input || !input->required) continue;
        expect(*input);
        pending.push_back(input->node.get());
      }
    }
    if (leaves_.empty()) ahead_.clear();
    const auto later = [](const Node* a, const Node* b) { return a->number > b->number; };
    std::sort(ahead_.begin(), ahead_.end(), later);
  }

  /// One contribution to this gradient has arrived.
  void arrive(const GradientSlot& slot) {
    if (leaves_.empty() || slot.node) return;
    const auto leaf = leaves_.find(&slot);
    if (leaf == leaves_.end() || --leaf->second.uses > 0) return;
    if (slot.contributions == leaf->second.contributions_before) return;
    for (const auto& [number, f] : slot.hooks->functions) f(slot.gradient);
  }
  /// The pass has processed all ops with this number or higher.
  void go_by(uint64_t number) {
    for (; next_ < ahead_.size() && ahead_[next_]->number >= number; ++next_)
      for (const auto& input : ahead_[next_]->inputs)
        if (input) arrive(*input);
  }

 private:
  struct Expected {
    int64_t uses = 0;
    uint64_t contributions_before = 0;
  };

  void expect(const GradientSlot& slot) {
    if (slot.node || !slot.hooks || slot.hooks->functions.empty()) return;
    Expected& leaf = leaves_[&slot];
    ++leaf.uses;
    leaf.contributions_before = slot.contributions;
  }

  std::unordered_map<const GradientSlot*, Expected> leaves_;
  std::vector<Node*> ahead_;  // of the pass, last recorded first
  size_t next_ = 0;
};

void propagate(std::shared_ptr<Node> last, ReadyLeaves& leaves) {
  const auto earlier = [](const auto& a, const auto& b) { return a->number < b->number; };
  std::priority_queue<std::shared_ptr<Node>, std::vector<std::shared_ptr<Node>>, decltype(earlier)> ready(
      earlier);
  ready.push(std::move(last));
  const Node* previous = nullptr;
  while (!ready.empty()) {
    const std::shared_ptr<Node> node = ready.top();
    ready.pop();
    if (node.get() == previous) continue;  // reached by several paths
    previous = node.get();
    leaves.go_by(node->number + 1);
    ADJ_CHECK(node->backward != nullptr,
              "backward: {} has already run backward, which freed its saved tensors", node->name);
    Tensor dy = std::move(node->output->gradient);
    node->output->gradient = {};
    const bool through_relu = std::exchange(node->output->through_relu, false);
    if (!dy) continue;  // none of its users wanted its gradient
    {
      const AllocationScope scope(node->name);
      // Moved out first: the op's saved tensors are freed when it returns, before the next ops allocate.
      const Backward backward = std::exchange(node->backward, nullptr);
      detail::FusedGradients inputs(node->inputs, through_relu);
      Gradients gradients = inputs.gradients();
      detail::op_going_backward = node->name;
      backward(std::move(dy), gradients);
    }
    leaves.go_by(node->number);
    for (const auto& input : node->inputs)
      if (input && input->node && input->gradient) ready.push(input->node);
  }
  leaves.go_by(0);
}

}  // namespace

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
  const detail::BackwardPass backward_pass;
  for (const BackwardCalls* calls : backward_calls) calls->before_();
  std::vector<std::shared_ptr<GradientSlot>> root{impl_->slot};
  ReadyLeaves leaves(root[0]);
  detail::FusedGradients(root).add(0, std::move(seed), false);
  leaves.arrive(*root[0]);
  if (root[0]->node) propagate(root[0]->node, leaves);
  for (const BackwardCalls* calls : backward_calls) calls->after_();
}

const Tensor& Saved::get() const {
  ADJ_CHECK(tensor_.version() == version_,
            "backward: {} had saved a tensor {} that was changed in place before the backward pass used it",
            detail::op_going_backward, tensor_.str());
  return tensor_;
}

bool Gradients::wanted(size_t input) const { return inputs_.wanted(input); }

void Gradients::add(size_t input, Tensor gradient) { inputs_.add(input, std::move(gradient), false); }
void Gradients::add(Tensor gradient) { inputs_.add(inputs_.only(), std::move(gradient), false); }

bool detail::FusedGradients::wanted(size_t input) const {
  return inputs_.at(input) && inputs_[input]->required;
}

size_t detail::FusedGradients::only() const {
  ADJ_CHECK(inputs_.size() == 1, "gradients: an op of {} inputs named none", inputs_.size());
  return 0;
}

bool detail::FusedGradients::from_relu(size_t input) const {
  const auto& slot = inputs_.at(input);
  return slot && slot->from_relu;
}

void detail::FusedGradients::add(size_t input, Tensor gradient, bool through_relu) {
  if (!wanted(input)) return;
  GradientSlot& slot = *inputs_[input];
  ADJ_CHECK(gradient.shape() == slot.shape && gradient.dtype() == slot.dtype,
            "backward: gradient {} for a value {} {}", gradient.str(), slot.shape.str(), name_of(slot.dtype));
  ++slot.contributions;
  slot.through_relu = through_relu && (!slot.gradient || slot.through_relu);
  if (!slot.gradient) {
    detail::remember_gradient(inputs_[input]);
    if (slot.place) slot.place.copy_(gradient);
    slot.gradient = slot.place ? slot.place : std::move(gradient);
    return;
  }
  // Another variable may hold the same tensor as its gradient: only an unshared one is accumulated in place.
  Tensor sum = slot.place ? slot.place : reuse(slot.gradient);
  kernels::linear_combination({.alpha = 1.0, .a = slot.gradient, .beta = 1.0, .b = gradient, .y = sum});
  if (!sum.shares_storage_with(slot.gradient)) detail::remember_gradient(inputs_[input]);
  slot.gradient = std::move(sum);
}

Tensor detail::FusedGradients::begun(size_t input, bool through_relu) {
  if (!wanted(input) || !inputs_[input]->gradient) return {};
  GradientSlot& slot = *inputs_[input];
  Tensor sum = slot.place ? slot.place : reuse(slot.gradient);
  if (!sum.shares_storage_with(slot.gradient)) return {};
  ++slot.contributions;
  slot.through_relu = through_relu;
  return sum;
}

namespace {

bool any_recorded(std::span<const Var> inputs) {
  return !NoGrad::in_force() && std::any_of(inputs.begin(), inputs.end(), std::mem_fn(&Var::requires_grad));
}

Var record_all(const char* name, Tensor value, std::span<const Var> inputs, Backward backward) {
  Var result(std::move(value));
  if (!any_recorded(inputs)) return result;
  const auto slot = TapeAccess::slot(result);
  slot->required = true;
  slot->node = std::make_shared<Node>();
  slot->node->name = name;
  slot->node->number = detail::next_number.fetch_add(1);
  slot->node->backward = std::move(backward);
  slot->node->output = slot.get();
  for (const Var& input : inputs) {
    const bool left_out = only_leaves != nullptr && !input.requires_grad();
    slot->node->inputs.push_back(left_out ? nullptr : TapeAccess::slot(input));
  }
  return result;
}

}  // namespace

Var record(const char* name, Tensor value, std::initializer_list<Var> inputs, Backward backward) {
  return record_all(name, std::move(value), {inputs.begin(), inputs.size()}, std::move(backward));
}
Var record(const char* name, Tensor value, const std::vector<Var>& inputs, Backward backward) {
  return record_all(name, std::move(value), inputs, std::move(backward));
}
bool recording(std::initializer_list<Var> inputs) { return any_recorded({inputs.begin(), inputs.size()}); }

Var detail::from_relu(Var recorded) {
  const auto slot = TapeAccess::slot(recorded);
  slot->from_relu = slot->node != nullptr;
  return recorded;
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

std::ostream& operator<<(std::ostream& out, const Var& x) {
  return out << to_text(x.value_or_absent()) << (x && x.requires_grad() ? ", with a gradient" : "");
}

}  // namespace adj
