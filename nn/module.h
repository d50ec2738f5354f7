#pragma once

#include <adjoint/autograd/dropout.h>

#include <deque>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace adj::nn {

/// Layout of a parameter in the state dict of PyG's module of the same name.
struct PygLayout {
  bool transposed = false;  ///< [out, in] in PyG, as in torch.nn.Linear, and [in, out] here
  std::string name = {};    ///< relative to the module's name ("lin.weight"), where it differs
};

/// Base class of layers and models: parameters, buffers and child modules by name. An object is either part
/// of another module, `Child<T>`, or a whole model, `Model<T>`:
///
///   struct Gcn : nn::Module {
///     nn::Child<nn::GCNConv> conv1, conv2;
///     Gcn(int64_t in, int64_t hidden, int64_t out)
///         : conv1(this, "conv1", in, hidden), conv2(this, "conv2", hidden, out) {}
///   };
///   nn::Model<Gcn> model(1433, 16, 7);  // "conv1.weight", "conv1.bias", "conv2.weight", …
///
/// The class itself is abstract, so an unregistered member or container element does not compile. Modules
/// neither copy nor move.
class Module {
 public:
  Module() = default;
  virtual ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// "conv1.weight" and so on, in order of declaration, own parameters before those of children. A variable
  /// under two names (tied weights) is one parameter, under its first name.
  std::vector<std::pair<std::string, Var>> named_parameters() const;
  std::vector<Var> parameters() const;
  int64_t num_parameters() const;  ///< numbers in all parameters
  /// Parameters and buffers by name; a shared one appears under each name. The tensors are the module's own:
  /// clone() to keep values.
  std::vector<std::pair<std::string, Tensor>> state() const;
  /// Overwrites parameters and buffers in place. Throws unless `state` has exactly this module's names and
  /// shapes, naming the first mismatch; then nothing is changed.
  void load_state(const std::map<std::string, Tensor>& state);
  /// Throws as load_state() does.
  void check_state(const std::map<std::string, Tensor>& state) const;
  /// Names and layouts in PyG, in the order of state() (used by load_pyg_state).
  std::vector<PygLayout> pyg_layout() const;

  /// Training mode (dropout draws, batch norm uses batch statistics), for this module and its children.
  void train(bool mode = true);
  void eval() { train(false); }                ///< evaluation mode
  bool training() const { return training_; }  ///< the mode, as at first
  /// Moves parameters and buffers and drops gradients. Create the optimizer afterwards.
  void to(Device device);
  /// Converts to float32, float64 or bfloat16. With bfloat16 buffers stay float32: the updates of running
  /// statistics are below bfloat16's relative precision of 2^-9 and would be lost.
  void to(DType dtype);
  void zero_grad();  ///< drops the gradients of all parameters

  /// One line: type and sizes ("GCNConv(1433 -> 16)").
  virtual std::string describe() const { return "Module"; }
  /// The module and its children as an indented tree, each with the numbers in its parameters.
  std::string str() const;

 protected:
  /// Makes `member` a parameter with `value`; for constructor bodies. `Parameter` does the same at the
  /// declaration. As for buffers and children, throws if the name is taken, empty or contains '.' or '/', or
  /// if the member is already registered.
  void add_parameter(std::string name, Var& member, Tensor value, PygLayout pyg = {});
  /// State that takes no gradient (running statistics).
  void add_buffer(std::string name, Tensor& member, Tensor value);

  /// adj::dropout, which draws only in training mode.
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

  /// Its name appears in the compiler's error if a module is neither a Child nor a Model.
  virtual void declare_it_as_nn_Child_of_its_module_or_as_nn_Model() const = 0;
  void add_child(std::string name, Module& child);
  void check_new(const std::string& name, const void* member) const;
  template <class F>
  void visit(const std::string& prefix, F&& f) const;

  std::vector<std::pair<std::string, Var*>> parameters_;
  std::vector<std::pair<std::string, Tensor*>> buffers_;
  std::vector<std::pair<std::string, Module*>> children_;
  std::map<std::string, PygLayout> pyg_;  // of the parameters that differ in PyG
  Module* parent_ = nullptr;
  bool training_ = true;
};

/// A T that is the child `name` of `parent` for its lifetime, constructed from `args`: `nn::Child<nn::Linear>
/// head{this, "head", 16, 7};`.
template <class T>
class Child : public T {
 public:
  template <class... Args>
  explicit Child(Module* parent, std::string name, Args&&... args) : T(std::forward<Args>(args)...) {
    parent->add_child(std::move(name), *this);
  }
  /// For a T whose first argument is a list: `nn::Child<nn::MLP> mlp{this, "mlp", {1433, 64, 7}};`.
  template <class... Args>
  explicit Child(Module* parent, std::string name, std::initializer_list<int64_t> list, Args&&... args)
      : T(list, std::forward<Args>(args)...) {
    parent->add_child(std::move(name), *this);
  }

 private:
  void declare_it_as_nn_Child_of_its_module_or_as_nn_Model() const final {}
};

/// Owns a module made elsewhere (T or a derived class) as the child `name` of `parent`: `nn::Owned<Encoder>
/// encoder{this, "encoder", std::make_unique<nn::Model<Gcn>>(1433, 64)};`.
template <class T>
class Owned {
 public:
  Owned(Module* parent, std::string name, std::unique_ptr<T> module) : module_(std::move(module)) {
    parent->add_child(std::move(name), *module_);
  }
  T& operator*() const { return *module_; }        ///< the module
  T* operator->() const { return module_.get(); }  ///< the module

 private:
  std::unique_ptr<T> module_;
};

/// A T without a parent module.
template <class T>
class Model : public T {
 public:
  using T::T;

 private:
  void declare_it_as_nn_Child_of_its_module_or_as_nn_Model() const final {}
};

/// A variable number of children of one type: `nn::ModuleList<nn::GCNConv> convs{this, "convs"};` has
/// "convs.0.weight" after `convs.add(1433, 16)`.
template <class T>
class ModuleList : public Module {
 public:
  ModuleList(Module* parent, std::string name) { parent->add_child(std::move(name), *this); }

  /// Appends an element made from `args`. References stay valid.
  template <class... Args>
  T& add(Args&&... args) {
    return items_.emplace_back(this, std::to_string(items_.size()), std::forward<Args>(args)...);
  }
  size_t size() const { return items_.size(); }     ///< number of elements
  bool empty() const { return items_.empty(); }     ///< no elements
  T& operator[](size_t i) { return items_.at(i); }  ///< throws std::out_of_range
  const T& operator[](size_t i) const { return items_.at(i); }
  T& back() { return items_.back(); }  ///< the last element
  const T& back() const { return items_.back(); }
  auto begin() { return items_.begin(); }  ///< the first element
  auto end() { return items_.end(); }      ///< behind the last element
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  std::string describe() const override { return "ModuleList"; }

 private:
  void declare_it_as_nn_Child_of_its_module_or_as_nn_Model() const final {}
  std::deque<Child<T>> items_;
};

/// A parameter, registered where it is declared: `nn::Parameter scale{this, "scale", Tensor::full({1},
/// 1.0)};`. A member made by `Var::parameter(…)` would not be registered.
class Parameter : public Var {
 public:
  Parameter(Module* module, std::string name, Tensor value) {
    module->add_parameter(std::move(name), *this, std::move(value));
  }
  Parameter(const Parameter&) = delete;
  Parameter& operator=(const Parameter&) = delete;
};

}  // namespace adj::nn
