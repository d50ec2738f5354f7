#pragma once

#include <adjoint/autograd/dropout.h>

#include <deque>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace adj::nn {

/// How the state dict of PyG's module of the same name has a parameter.
struct PygLayout {
  bool transposed =
      false;              ///< [out, in] there, as torch.nn.Linear has its weight, where it is [in, out] here
  std::string name = {};  ///< relative to the module's ("lin.weight"), where it differs
};

/// What layers and models are classes of: parameters, buffers and child modules, found by name. An object of
/// such a class is either a part of another module, `Child<T>`, or a whole, `Model<T>`:
///
///   struct Gcn : nn::Module {
///     nn::Child<nn::GCNConv> conv1, conv2;
///     Gcn(int64_t in, int64_t hidden, int64_t out)
///         : conv1(this, "conv1", in, hidden), conv2(this, "conv2", hidden, out) {}
///   };
///   nn::Model<Gcn> model(1433, 16, 7);  // "conv1.weight", "conv1.bias", "conv2.weight", …
///
/// The class alone is abstract: a member, or an element of any container, that would be no part of the
/// model's parameters does not compile. Modules neither copy nor move.
class Module {
 public:
  Module() = default;
  virtual ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// "conv1.weight" and the like, in order of declaration, children after own ones. A variable that stands in
  /// two places (tied weights) is one parameter, under its first name.
  std::vector<std::pair<std::string, Var>> named_parameters() const;
  std::vector<Var> parameters() const;
  int64_t num_parameters() const;
  /// Parameters and buffers by name, each wherever it stands. The tensors are the module's own: clone() what
  /// must stay.
  std::vector<std::pair<std::string, Tensor>> state() const;
  /// Overwrites parameters and buffers in place. Throws, naming the first culprit, unless `state` has exactly
  /// this module's names and shapes; then nothing was changed.
  void load_state(const std::map<std::string, Tensor>& state);
  /// Throws what load_state() would.
  void check_state(const std::map<std::string, Tensor>& state) const;
  /// state(), in its order, as PyG calls and lays it out (nn/pyg_state.h reads it).
  std::vector<PygLayout> pyg_layout() const;

  /// Training mode (dropout draws, batch norm uses the batch), for this module and its children.
  void train(bool on = true);
  void eval() { train(false); }
  bool training() const { return training_; }
  /// Parameters and buffers move, and gradients are dropped. An optimizer is made afterwards.
  void to(Device device);
  /// Likewise, converted to float32, float64 or bfloat16. Under bfloat16 buffers are float32: a running
  /// statistic moves by less than bfloat16's 2^-9 of itself, and would stand still.
  void to(DType dtype);
  void zero_grad();

  /// One line: type and sizes ("GCNConv(1433 -> 16)").
  virtual std::string describe() const { return "Module"; }
  /// The module and its children as an indented tree.
  std::string str() const;

 protected:
  /// Makes `member` a parameter holding `value`, from the constructor's body; `Parameter` does it where it is
  /// declared. Here as for buffers and children, a name that is taken, empty or has a '.' or '/' in it
  /// throws, and so does a member that is registered already.
  void add_parameter(std::string name, Var& member, Tensor value, PygLayout pyg = {});
  /// State that takes no gradient (running statistics).
  void add_buffer(std::string name, Tensor& member, Tensor value);

  /// adj::dropout, drawing only in training mode.
  Var dropout(const Var& x, float p) const { return adj::dropout(x, p, training_); }
  Features dropout(const Features& x, float p) const { return adj::dropout(x, p, training_); }

 private:
  friend class Parameter;
  template <class T>
  friend class Child;
  template <class T>
  friend class Owned;
  template <class T>
  friend class Model;
  template <class T>
  friend class ModuleList;

  /// Stands in the compiler's message where neither was done.
  virtual void declare_it_as_nn_Child_of_its_module_or_as_nn_Model() const = 0;
  void add_child(std::string name, Module& child);
  void check_new(const std::string& name, const void* member) const;
  template <class F>
  void visit(const std::string& prefix, F&& f) const;

  std::vector<std::pair<std::string, Var*>> parameters_;
  std::vector<std::pair<std::string, Tensor*>> buffers_;
  std::vector<std::pair<std::string, Module*>> children_;
  std::map<std::string, PygLayout> pyg_;  // of the parameters that differ there
  Module* parent_ = nullptr;
  bool training_ = true;
};

/// A T that is the part `name` of `parent` from its construction to its end, made from `args`:
/// `nn::Child<nn::Linear> head{this, "head", 16, 7};`.
template <class T>
class Child : public T {
 public:
  template <class... Args>
  explicit Child(Module* parent, std::string name, Args&&... args) : T(std::forward<Args>(args)...) {
    parent->add_child(std::move(name), *this);
  }
  /// For a T that begins with a list: `nn::Child<nn::MLP> mlp{this, "mlp", {1433, 64, 7}, 0.5f};`.
  template <class... Args>
  explicit Child(Module* parent, std::string name, std::initializer_list<int64_t> list, Args&&... args)
      : T(list, std::forward<Args>(args)...) {
    parent->add_child(std::move(name), *this);
  }

 private:
  void declare_it_as_nn_Child_of_its_module_or_as_nn_Model() const final {}
};

/// A module made elsewhere, a T or of a class derived from it, that becomes the part `name` of `parent`:
/// `nn::Owned<Encoder> encoder{this, "encoder", std::make_unique<nn::Model<Gcn>>(1433, 64)};`.
template <class T>
class Owned {
 public:
  Owned(Module* parent, std::string name, std::unique_ptr<T> module) : module_(std::move(module)) {
    parent->add_child(std::move(name), *module_);
  }
  T& operator*() const { return *module_; }
  T* operator->() const { return module_.get(); }

 private:
  std::unique_ptr<T> module_;
};

/// A T that is part of no other module.
template <class T>
class Model : public T {
 public:
  using T::T;

 private:
  void declare_it_as_nn_Child_of_its_module_or_as_nn_Model() const final {}
};

/// Parts of one type, as many as there turn out to be: `nn::ModuleList<nn::GCNConv> convs{this, "convs"};`
/// has "convs.0.weight" after `convs.add(1433, 16)`.
template <class T>
class ModuleList : public Module {
 public:
  ModuleList(Module* parent, std::string name) { parent->add_child(std::move(name), *this); }

  /// Makes one more from `args`. It stays where it is.
  template <class... Args>
  T& add(Args&&... args) {
    return items_.emplace_back(this, std::to_string(items_.size()), std::forward<Args>(args)...);
  }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  T& operator[](size_t i) { return items_.at(i); }
  const T& operator[](size_t i) const { return items_.at(i); }
  T& back() { return items_.back(); }
  const T& back() const { return items_.back(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  std::string describe() const override { return "ModuleList"; }

 private:
  void declare_it_as_nn_Child_of_its_module_or_as_nn_Model() const final {}
  std::deque<Child<T>> items_;
};

/// A parameter, registered where it is declared: `nn::Parameter scale{this, "scale",
/// Tensor::full({1}, 1.0)};`. A member `Var::parameter(…)` would be none of the module's.
class Parameter : public Var {
 public:
  Parameter(Module* module, std::string name, Tensor value) {
    module->add_parameter(std::move(name), *this, std::move(value));
  }
  Parameter(const Parameter&) = delete;
  Parameter& operator=(const Parameter&) = delete;
};

}  // namespace adj::nn
