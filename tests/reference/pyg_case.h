#pragma once

#include "plain.h"
#include <adjoint/data/hdf5_file.h>
#include <adjoint/graph/graph.h>
#include <adjoint/models/pyg_state.h>
#include <adjoint/nn/module.h>
#include <adjoint/ops.h>

#include <map>
#include <string>

// A layer compared to PyG's: one group of pyg_layers.h5 or another file, as written by case() in
// make_pyg_reference.py.

namespace adj::test {

class PygCase {
 public:
  PygCase(std::string group, Device device, std::string filename = "pyg_layers.h5")
      : file_(std::move(filename)), group_(std::move(group)), device_(device) {
    REQUIRE(file().has(group_));
  }

  Tensor operator()(const std::string& name) const {
    return file().tensor(group_ + "/" + name, {DType::f32, DType::i32}).to(device_);
  }
  bool has(const std::string& name) const { return file().has(group_ + "/" + name); }
  /// An attribute of the group.
  double option(const std::string& name, double otherwise) const {
    return file().has_attribute(group_, name) ? file().number(group_, name) : otherwise;
  }
  /// An input with a gradient; absent if the case has none.
  Var in(const std::string& name) {
    if (!has("in/" + name)) return {};
    const auto found = inputs_.find(name);
    return found != inputs_.end()
               ? found->second
               : inputs_.emplace(name, Var::parameter((*this)("in/" + name))).first->second;
  }
  /// An edge input, permuted to this graph's edge numbers.
  Var of_edges(const std::string& name, const Graph& graph) {
    const Var value = in(name);
    return value ? index_select(value, graph.input_order()) : value;
  }
  Graph graph() const {
    return Graph::from_coo((*this)("y").size(0), (*this)("src"), (*this)("dst"),
                           has("weight") ? (*this)("weight") : Tensor());
  }
  Relation relation() const {
    return Relation::from_coo((*this)("in/x_src").size(0), (*this)("y").size(0), (*this)("src"),
                              (*this)("dst"));
  }

  /// Loads the state of PyG's layer, via a file in the format of `to_adjoint.py state`.
  void load(nn::Module& module, const std::map<std::string, std::string>& names = {}) const {
    const TemporaryDirectory folder;
    const std::string path = folder.file("state.h5");
    H5Writer writer(path);
    for (const std::string& name : file().children(group_ + "/state"))
      if (!name.ends_with("num_batches_tracked"))
        writer.write(name, file().tensor(group_ + "/state/" + name, {DType::f32, DType::f64}));
    writer.commit();
    module.to(device_);
    nn::load_pyg_state(module, path, names);
  }

  /// Compares the output and the gradients of all inputs and parameters with PyG's.
  void compare(nn::Module& module, const Var& y, const std::map<std::string, std::string>& names = {}) const {
    CHECK(close(y.value(), (*this)("y"), 1e-5));
    module.zero_grad();
    y.backward((*this)("dy"));
    for (const auto& [name, input] : inputs_) {
      CAPTURE(name);
      CHECK(close(input.grad(), (*this)("d/" + name), 1e-5));
    }
    const auto state = module.state();
    const auto layouts = module.pyg_layout();
    std::map<std::string, Var> parameters;
    for (const auto& [name, parameter] : module.named_parameters()) parameters.emplace(name, parameter);
    size_t compared = 0;
    for (size_t i = 0; i < state.size(); ++i) {
      const auto found = parameters.find(state[i].first);
      if (found == parameters.end()) continue;
      CAPTURE(state[i].first);
      std::string place = layouts[i].name;
      for (const auto& [prefix, theirs] : names)
        if (place.starts_with(prefix)) place = theirs + place.substr(prefix.size());
      const Tensor& grad = found->second.grad();
      if (!has("dstate/" + place)) {
        CHECK(!grad);  // an unused part
        continue;
      }
      Tensor expected = (*this)("dstate/" + place).to(Device::cpu());
      REQUIRE(grad);
      if (layouts[i].transposed) {
        const Dense turned = transposed(Dense(expected));
        expected = Tensor::from(turned.data, {turned.rows, turned.cols});
      }
      CHECK(close(grad.to(Device::cpu()).reshape({grad.numel()}).to(DType::f64),
                  expected.reshape({expected.numel()}).to(DType::f64), 1e-5));
      ++compared;
    }
    const size_t with_gradient = has("dstate") ? file().children(group_ + "/dstate").size() : 0;
    CHECK(compared == with_gradient);
  }

 private:
  const H5Reader& file() const {
    static std::map<std::string, H5Reader> readers;
    const auto found = readers.find(file_);
    if (found != readers.end()) return found->second;
    return readers.emplace(file_, H5Reader::open("tests/reference/" + file_)).first->second;
  }
  std::string file_, group_;
  Device device_;
  std::map<std::string, Var> inputs_;
};

/// f(PygCase&) for a group, on every device.
template <class F>
void on_devices(const std::string& group, F&& f, const std::string& filename = "pyg_layers.h5") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    CAPTURE(group);
    PygCase reference(group, device, filename);
    f(reference);
  }
}

}  // namespace adj::test
