#include "../reference/plain.h"
#include "module_state.h"
#include <adjoint/autograd/reduce.h>
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/linear.h>
#include <adjoint/nn/module.h>
#include <adjoint/nn/norm/norm.h>

#include <memory>
#include <optional>
#include <type_traits>

using namespace adj;
using namespace adj::test;

namespace {

struct Hidden : nn::Module {
  nn::Child<nn::Linear> linear{this, "linear", 3, 2};
  nn::Child<nn::BatchNorm> norm{this, "norm", 2};
  nn::Child<nn::Dropout> drop{this, "drop", 0.5f};
  std::string describe() const override { return "Hidden"; }
};

struct HiddenLayers : nn::Module {
  nn::Child<Hidden> first{this, "first"};
  nn::ModuleList<Hidden> rest{this, "rest"};
  nn::Child<nn::GCNConv> head;
  nn::Parameter scale{this, "scale", Tensor::full({1}, 1.0)};
  Hidden& second;
  explicit HiddenLayers(int64_t out = 4) : head(this, "head", 2, out), second(rest.add()) {}
  using nn::Module::dropout;
};
using Model = nn::Model<HiddenLayers>;

template <class Named>
std::vector<std::string> names(const Named& named) {
  std::vector<std::string> found;
  for (const auto& [name, value] : named) found.push_back(name);
  return found;
}

}  // namespace

TEST_CASE("parameters have their path as name, own ones first") {
  const Model model;
  CHECK(names(model.named_parameters()) ==
        std::vector<std::string>{"scale", "first.linear.weight", "first.linear.bias", "first.norm.weight",
                                 "first.norm.bias", "rest.0.linear.weight", "rest.0.linear.bias",
                                 "rest.0.norm.weight", "rest.0.norm.bias", "head.weight", "head.bias"});
  CHECK(model.parameters().size() == 11);
  CHECK(model.num_parameters() == 1 + 2 * (6 + 2 + 2 + 2) + 8 + 4);
  const auto state = names(model.state());
  CHECK(state.size() == 15);
  CHECK(std::find(state.begin(), state.end(), "rest.0.norm.running_var") != state.end());
}

TEST_CASE("a named parameter shares the module's storage") {
  Model model;
  for (auto& [name, parameter] : model.named_parameters())
    if (name == "head.bias") Tensor(parameter.value()).fill_(3.0);
  CHECK(close(model.head.bias.value(), std::vector<double>(4, 3.0), 0.0));
}

TEST_CASE("load_state copies a state into the existing tensors") {
  Model source, target;
  source.first.norm.running_mean.fill_(0.25);
  const Tensor before = target.head.weight.value();
  CHECK_FALSE(equal(copied(source), copied(target)));
  target.load_state(copied(source));
  CHECK(equal(copied(source), copied(target)));
  CHECK(before.shares_storage_with(target.head.weight.value()));
  CHECK_FALSE(source.head.weight.value().shares_storage_with(target.head.weight.value()));
}

TEST_CASE("a mismatched state is refused by name, and nothing is changed") {
  const Model source;
  Model target;
  const auto before = copied(target);
  const auto refused = [&](auto&& spoil, const std::vector<std::string>& told) {
    auto state = copied(source);
    spoil(state);
    CHECK(mentions(error_of([&] { target.load_state(state); }), told));
    CHECK(equal(copied(target), before));
  };
  refused([](auto& state) { state.erase("rest.0.norm.bias"); }, {"rest.0.norm.bias", "missing"});
  refused([](auto& state) { state.erase("rest.0.norm.running_mean"); }, {"rest.0.norm.running_mean"});
  const Tensor turned = Tensor::zeros({4, 2});
  refused([&](auto& state) { state["head.weight"] = turned; }, {"head.weight", "[4, 2]", "[2, 4]"});
  refused([](auto& state) { state["head.bias"] = Tensor::zeros({4}, DType::f64); }, {"head.bias", "float64"});
  refused([](auto& state) { state["another"] = Tensor::zeros({1}); }, {"another"});
}

TEST_CASE("training mode applies to all submodules") {
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

TEST_CASE("converting a model converts parameters, and keeps buffers at least float32") {
  for (Device device : devices()) {
    Model model;
    model.to(device);
    const auto before = copied(model);
    sum(model.scale).backward();
    for (DType dtype : {DType::f64, DType::bf16, DType::f32}) {
      CAPTURE(name_of(dtype));
      model.to(dtype);
      CHECK_FALSE(model.scale.grad());
      for (const auto& [name, parameter] : model.named_parameters()) {
        CAPTURE(name);
        CHECK(parameter.dtype() == dtype);
        CHECK(parameter.device() == device);
        const Tensor expected = dtype == DType::f64 ? before.at(name) : before.at(name).to(DType::bf16);
        CHECK(values(parameter.value()) == values(expected));
      }
      const Tensor& running = model.first.norm.running_var;
      CHECK(running.dtype() == (dtype == DType::f64 ? dtype : DType::f32));
      CHECK(values(running) == values(before.at("first.norm.running_var")));
    }
    CHECK_ERROR_HAS(model.to(DType::i32), "int32");
  }
}

TEST_CASE("zero_grad clears the gradients of all submodules") {
  Model model;
  sum(model.second.linear.weight).backward();
  CHECK(model.second.linear.weight.grad());
  model.zero_grad();
  CHECK_FALSE(model.second.linear.weight.grad());
}

TEST_CASE("a module prints as an indented tree") {
  const Model model;
  CHECK(model.str() ==
        "Module, 37 parameters\n"
        "  first: Hidden, 12 parameters\n"
        "    linear: Linear(3 -> 2), 8 parameters\n"
        "    norm: BatchNorm(2), 4 parameters\n"
        "    drop: Dropout(0.5)\n"
        "  rest: ModuleList, 12 parameters\n"
        "    0: Hidden, 12 parameters\n"
        "      linear: Linear(3 -> 2), 8 parameters\n"
        "      norm: BatchNorm(2), 4 parameters\n"
        "      drop: Dropout(0.5)\n"
        "  head: GCNConv(2 -> 4), 12 parameters");
}

// Members, elements and variables that could not be registered do not compile.
static_assert(std::is_abstract_v<nn::Linear> && std::is_abstract_v<Hidden> &&
              std::is_abstract_v<HiddenLayers>);
static_assert(!std::is_constructible_v<nn::Linear, int, int>);
static_assert(std::is_constructible_v<nn::Model<nn::Linear>, int, int>);
static_assert(!std::is_copy_constructible_v<Model> && !std::is_move_constructible_v<Model>);
static_assert(!std::is_copy_constructible_v<nn::Parameter> && !std::is_assignable_v<nn::Parameter&, Var>);

TEST_CASE("members registered twice, or under a bad name, are refused") {
  struct Names : nn::Module {
    nn::Child<nn::Linear> layer;
    Names(const char* first, const char* second) : layer(this, first, 1, 1) {
      nn::Child<nn::Linear>(this, second, 1, 1);
    }
  };
  const auto told = [](const char* first, const char* second) {
    return error_of([&] { nn::Model<Names>(first, second); });
  };
  nn::Model<Names>("layer", "other");
  CHECK(mentions(told("layer", "layer"), "two members are named 'layer'"));
  for (const char* name : {"", "a.b", "a/b"}) {
    CHECK(mentions(told(name, "other"), fmt::format("'{}'", name)));
    CHECK(mentions(told("other", name), fmt::format("'{}'", name)));
  }

  struct Twice : nn::Module {
    Var weight;
    Tensor buffer;
    explicit Twice(int how) {
      add_parameter("weight", weight, Tensor::zeros({1}));
      add_buffer("buffer", buffer, Tensor::zeros({1}));
      if (how == 1) add_parameter("again", weight, Tensor::zeros({1}));
      if (how == 2) add_buffer("again", buffer, Tensor::zeros({1}));
      if (how == 3) nn::Parameter(this, "buffer", Tensor::zeros({1}));
      if (how == 4) nn::Child<nn::Linear>(this, "weight", 1, 1);
    }
  };
  const char* expected[] = {"", "'weight' is registered again, as 'again'",
                            "'buffer' is registered again, as 'again'", "'buffer'", "'weight'"};
  for (int how = 0; how < 5; ++how) {
    const std::string message = error_of([&] { nn::Model<Twice>{how}; });
    CHECK(message.empty() == (how == 0));
    CHECK(mentions(message, expected[how]));
  }
}

TEST_CASE("children can be added and removed, in containers too") {
  struct Parts : nn::Module {
    std::vector<std::unique_ptr<nn::Child<nn::Linear>>> layers;
    std::optional<nn::Child<nn::MLP>> mlp;
    void add(const std::string& name) {
      layers.push_back(
          std::make_unique<nn::Child<nn::Linear>>(this, name, 1, 2, nn::LinearOptions{.bias = false}));
    }
  };
  nn::Model<Parts> model;
  model.add("a");
  model.add("b");
  model.eval();
  model.mlp.emplace(&model, "mlp", std::vector<int64_t>{2, 3, 4}, nn::MLPOptions{.dropout = 0.25f});
  CHECK_FALSE(model.mlp->training());
  CHECK(names(model.state()) == std::vector<std::string>{"a.weight", "b.weight", "mlp.lins.0.weight",
                                                         "mlp.lins.0.bias", "mlp.lins.1.weight",
                                                         "mlp.lins.1.bias"});
  model.mlp.reset();
  model.layers.erase(model.layers.begin());
  CHECK(names(model.state()) == std::vector<std::string>{"b.weight"});
  model.add("a");
  CHECK(names(model.state()) == std::vector<std::string>{"b.weight", "a.weight"});

  auto whole = std::make_unique<nn::Model<Parts>>();
  const nn::Child<nn::MLP> outlives(whole.get(), "outlives", {2, 3, 4}, nn::MLPOptions{.dropout = 0.25f});
  whole.reset();
  CHECK(outlives.parameters().size() == 4);
}

TEST_CASE("tied weights are one parameter, and twice in the state") {
  struct Tied : nn::Module {
    nn::Child<nn::Linear> first{this, "first", 3, 3},
        second{this, "second", 3, 3, nn::LinearOptions{.bias = false}};
    Tied() { second.weight = first.weight; }
  };
  const nn::Model<Tied> model;
  CHECK(names(model.named_parameters()) == std::vector<std::string>{"first.weight", "first.bias"});
  CHECK(model.num_parameters() == 12);
  CHECK(names(model.state()) == std::vector<std::string>{"first.weight", "first.bias", "second.weight"});
}

TEST_CASE("modules refuse sizes and rates out of range") {
  CHECK_ERROR_HAS(nn::Model<nn::Linear>(0, 3), "0 -> 3");
  CHECK_ERROR_HAS(nn::Model<nn::GCNConv>(3, -1), "3 -> -1");
  CHECK_THROWS_AS(nn::Model<nn::Dropout>(1.0f), Error);
  CHECK_THROWS_AS(nn::Model<nn::BatchNorm>(0), Error);
  CHECK_THROWS_AS(nn::Model<nn::LayerNorm>(0), Error);
}
