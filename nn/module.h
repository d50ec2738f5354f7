#pragma once

#include <adjoint/autograd/dropout.h>

#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace adj::nn {

/// A part of a model: parameters, buffers and child modules, found by name. Modules are members of what holds
/// them, and registered once, in the constructor; they neither copy nor move.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// "conv1.weight" and the like, in order of registration, children after own ones.
  std::vector<std::pair<std::string, Var>> named_parameters() const;
  std::vector<Var> parameters() const;
  int64_t num_parameters() const;
  /// Parameters and buffers by name. The tensors are the module's own: clone() what must stay.
  std::vector<std::pair<std::string, Tensor>> state() const;
  /// Overwrites parameters and buffers in place. Throws, naming the first culprit, unless `state` has exactly
  /// this module's names and shapes; then nothing was changed.
  void load_state(const std::map<std::string, Tensor>& state);

  /// Training mode (dropout draws, batch norm uses the batch), for this module and its children.
  void train(bool on = true);
  void eval() { train(false); }
  bool training() const { return training_; }
  void to(Device device);
  void zero_grad();

  /// One line: type and sizes ("GCNConv(1433 -> 16)").
  virtual std::string describe() const { return "Module"; }
  /// The module and its children as an indented tree.
  std::string str() const;

 protected:
  /// Registers children, named "0", "1", … or as given.
  template <class... Children>
  requires(std::is_base_of_v<Module, Children>&&...) void add(Children&... children) {
    (add_child(std::to_string(children_.size()), children), ...);
  }
  void add(std::string name, Module& child) { add_child(std::move(name), child); }
  /// Makes `member` a parameter holding `value`.
  void add_parameter(std::string name, Var& member, Tensor value);
  /// State that takes no gradient (running statistics).
  void add_buffer(std::string name, Tensor& member, Tensor value);

  /// adj::dropout, drawing only in training mode.
  Var dropout(const Var& x, float p) const { return adj::dropout(x, p, training_); }
  Features dropout(const Features& x, float p) const { return adj::dropout(x, p, training_); }

 private:
  void add_child(std::string name, Module& child);
  template <class F>
  void visit(const std::string& prefix, F&& f) const;

  std::vector<std::pair<std::string, Var*>> parameters_;
  std::vector<std::pair<std::string, Tensor*>> buffers_;
  std::vector<std::pair<std::string, Module*>> children_;
  bool training_ = true;
};

}  // namespace adj::nn
