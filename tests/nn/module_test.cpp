#include "../reference/plain.h"
#include <adjoint/autograd/reduce.h>
#include <adjoint/nn/dropout.h>
#include <adjoint/nn/gcn_conv.h>
#include <adjoint/nn/linear.h>
#include <adjoint/nn/module.h>
#include <adjoint/nn/norm.h>

using namespace adj;
using namespace adj::test;

namespace {

struct Block : nn::Module {
  nn::Linear linear{3, 2};
  nn::BatchNorm norm{2};
  nn::Dropout drop{0.5f};
  Block() {
    add("linear", linear);
    add("norm", norm);
    add("drop", drop);
  }
  std::string describe() const override { return "Block"; }
};

struct Model : nn::Module {
  Block first, second;
  nn::GCNConv head{2, 4};
  Var scale;
  Model() {
    add_parameter("scale", scale, Tensor::full({1}, 1.0));
    add(first, second);
    add("head", head);
  }
  using nn::Module::dropout;
};

template <class Named>
std::vector<std::string> names(const Named& named) {
  std::vector<std::string> found;
  for (const auto& [name, value] : named) found.push_back(name);
  return found;
}

std::map<std::string, Tensor> copied(const nn::Module& module) {
  std::map<std::string, Tensor> copy;
  for (const auto& [name, tensor] : module.state()) copy[name] = tensor.clone();
  return copy;
}

bool equal(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && same_bits(x.second, y.second);
  });
}

}  // namespace

TEST_CASE("parameters are named by their place, own ones first") {
  const Model model;
  CHECK(names(model.named_parameters()) ==
        std::vector<std::string>{"scale", "0.linear.weight", "0.linear.bias", "0.norm.gamma", "0.norm.beta",
                                 "1.linear.weight", "1.linear.bias", "1.norm.gamma", "1.norm.beta",
                                 "head.weight", "head.bias"});
  CHECK(model.parameters().size() == 11);
  CHECK(model.num_parameters() == 1 + 2 * (6 + 2 + 2 + 2) + 8 + 4);
  const auto state = names(model.state());
  CHECK(state.size() == 15);
  CHECK(std::find(state.begin(), state.end(), "1.norm.running_variance") != state.end());
}

TEST_CASE("a named parameter is the module's own") {
  Model model;
  for (auto& [name, parameter] : model.named_parameters()) {
    if (name != "head.bias") continue;
    Tensor value = parameter.value();
    value.fill_(3.0);
  }
  CHECK(close(model.head.bias.value(), std::vector<double>(4, 3.0), 0.0));
}

TEST_CASE("a state goes round, into tensors that stay where they are") {
  Model source, target;
  source.first.norm.running.mean.fill_(0.25);
  const Tensor before = target.head.weight.value();
  CHECK_FALSE(equal(copied(source), copied(target)));
  target.load_state(copied(source));
  CHECK(equal(copied(source), copied(target)));
  CHECK(before.shares_storage_with(target.head.weight.value()));
  CHECK_FALSE(source.head.weight.value().shares_storage_with(target.head.weight.value()));
}

TEST_CASE("a state that does not fit is refused by name, and nothing is changed") {
  const Model source;
  Model target;
  const auto before = copied(target);
  const auto refused = [&](auto&& spoil, const std::vector<std::string>& told) {
    auto state = copied(source);
    spoil(state);
    const std::string message = error_of([&] { target.load_state(state); });
    for (const std::string& part : told) CHECK(mentions(message, part));
    CHECK(equal(copied(target), before));
  };
  refused([](auto& state) { state.erase("1.norm.beta"); }, {"1.norm.beta", "missing"});
  refused([](auto& state) { state.erase("1.norm.running_mean"); }, {"1.norm.running_mean"});
  refused(
      [](auto& state) {
        state["head.weight"] = Tensor::zeros({4, 2});
      },
      {"head.weight", "[4, 2]", "[2, 4]"});
  refused([](auto& state) { state["head.bias"] = Tensor::zeros({4}, DType::f64); }, {"head.bias", "float64"});
  refused([](auto& state) { state["another"] = Tensor::zeros({1}); }, {"another"});
}

TEST_CASE("training mode reaches all modules below") {
  Model model;
  CHECK(model.training());
  model.eval();
  CHECK_FALSE(model.training());
  CHECK_FALSE(model.second.norm.training());
  const Tensor x = Tensor::full({200}, 1.0);
  CHECK(same_bits(model.second.drop(x).value(), x));
  CHECK(same_bits(model.dropout(x, 0.5f).value(), x));
  model.train();
  CHECK(model.second.norm.training());
  CHECK_FALSE(same_bits(model.second.drop(x).value(), x));
  CHECK_FALSE(same_bits(model.dropout(x, 0.5f).value(), x));
  model.second.eval();
  CHECK(model.first.drop.training());
  CHECK_FALSE(model.second.drop.training());
}

TEST_CASE("moving a model moves parameters and buffers and keeps their values") {
  for (Device device : devices()) {
    Model model;
    const auto before = copied(model);
    model.to(device);
    for (const auto& [name, tensor] : model.state()) CHECK(tensor.device() == device);
    CHECK(equal(copied(model), before));
    model.to(Device::cpu());
    for (const auto& [name, tensor] : model.state()) CHECK(tensor.device().is_cpu());
    CHECK(equal(copied(model), before));
  }
}

TEST_CASE("zero_grad clears the gradients of all modules below") {
  Model model;
  sum(model.second.linear.weight).backward();
  CHECK(model.second.linear.weight.grad());
  model.zero_grad();
  CHECK_FALSE(model.second.linear.weight.grad());
}

TEST_CASE("a module prints as an indented tree") {
  const Model model;
  CHECK(model.str() ==
        "Module\n"
        "  0: Block\n"
        "    linear: Linear(3 -> 2)\n"
        "    norm: BatchNorm(2)\n"
        "    drop: Dropout(0.5)\n"
        "  1: Block\n"
        "    linear: Linear(3 -> 2)\n"
        "    norm: BatchNorm(2)\n"
        "    drop: Dropout(0.5)\n"
        "  head: GCNConv(2 -> 4)");
}

TEST_CASE("modules refuse what cannot be") {
  struct Twice : nn::Module {
    nn::Linear a{1, 1}, b{1, 1};
    Twice() {
      add("layer", a);
      add("layer", b);
    }
  };
  CHECK(mentions(error_of([] { Twice twice; }), "layer"));
  CHECK(mentions(error_of([] { nn::Linear(0, 3); }), "0 -> 3"));
  CHECK(mentions(error_of([] { nn::GCNConv(3, -1); }), "3 -> -1"));
  CHECK_THROWS_AS(nn::Dropout(1.0f), Error);
  CHECK_THROWS_AS(nn::BatchNorm(0), Error);
  CHECK_THROWS_AS(nn::LayerNorm(0), Error);
}
