#include "../reference/plain.h"
#include <adjoint/optim/optimizer.h>

#include <array>
#include <memory>

using namespace adj;
using namespace adj::test;

namespace {

using State = std::array<double, 2>;  // of one number: velocity, or first and second moment

/// Kingma & Ba 2015, algorithm 1, for one number.
auto algorithm_1(const optim::AdamOptions& o, bool decoupled = false) {
  return [=](double& p, State& state, double g, int t) {
    auto& [m, v] = state;
    if (decoupled) p -= o.lr * o.weight_decay * p;
    if (!decoupled) g += o.weight_decay * p;
    m = o.beta1 * m + (1.0 - o.beta1) * g;
    v = o.beta2 * v + (1.0 - o.beta2) * g * g;
    const double unbiased_m = m / (1.0 - std::pow(o.beta1, t)), unbiased_v = v / (1.0 - std::pow(o.beta2, t));
    p -= o.lr * unbiased_m / (std::sqrt(unbiased_v) + o.eps);
  };
}

}  // namespace

TEST_CASE("each group of Adam, AdamW and SGD follows its own rule") {
  const auto steps = [](auto optimizer_of, const auto& rules) {
    for (Device device : devices()) {
      std::vector<Var> parameters;
      for (size_t k = 0; k < rules.size(); ++k)
        parameters.push_back(Var::parameter(Tensor::full({2}, 1.5, DType::f64, device)));
      const auto optimizer = optimizer_of(parameters);
      std::vector<double> expected(rules.size(), 1.5);
      std::vector<State> state(rules.size(), State{});
      for (int t = 1; t <= 5; ++t) {
        for (size_t k = 0; k < rules.size(); ++k) {
          const double g = std::sin(t + 2.0 * static_cast<double>(k));
          parameters[k].set_grad(Tensor::full({2}, g, DType::f64, device));
          rules[k](expected[k], state[k], g, t);
        }
        optimizer->step();
      }
      for (size_t k = 0; k < rules.size(); ++k)
        CHECK(close(parameters[k].value(), {expected[k], expected[k]}, 1e-12));
    }
  };
  const optim::AdamOptions usual{.lr = 0.05}, options[] = {usual,
                                                           {.lr = 0.1, .beta1 = 0.5},
                                                           {.lr = 0.05, .beta2 = 0.7},
                                                           {.lr = 0.05, .eps = 0.1},
                                                           {.lr = 0.05, .weight_decay = 0.3}};
  for (const bool decoupled : {false, true}) {
    std::vector<decltype(algorithm_1(usual))> rules;
    for (const auto& o : options) rules.push_back(algorithm_1(o, decoupled));
    steps(
        [&](const std::vector<Var>& p) -> std::unique_ptr<optim::Optimizer> {
          std::vector<optim::Group<optim::AdamOptions>> groups;
          for (size_t k = 0; k < p.size(); ++k) groups.push_back({{p[k]}, options[k]});
          if (decoupled) return std::make_unique<optim::AdamW>(groups);
          return std::make_unique<optim::Adam>(groups);
        },
        rules);
  }
  const optim::SGDOptions of_sgd[] = {{.lr = 0.1},
                                      {.lr = 0.2, .momentum = 0.9},
                                      {.lr = 0.1, .weight_decay = 0.3},
                                      {.lr = 0.1, .momentum = 0.5, .nesterov = true}};
  const auto descent = [](const optim::SGDOptions& o) {
    return [=](double& p, State& state, double g, int) {
      g += o.weight_decay * p;
      state[0] = o.momentum * state[0] + g;
      p -= o.lr * (o.nesterov ? g + o.momentum * state[0] : state[0]);
    };
  };
  std::vector<decltype(descent(of_sgd[0]))> rules;
  for (const auto& o : of_sgd) rules.push_back(descent(o));
  steps(
      [&](const std::vector<Var>& p) {
        std::vector<optim::Group<optim::SGDOptions>> groups;
        for (size_t k = 0; k < p.size(); ++k) groups.push_back({{p[k]}, of_sgd[k]});
        return std::make_unique<optim::SGD>(groups);
      },
      rules);
}

TEST_CASE("AdamW's default weight decay is 0.01") {
  Var p = Var::parameter(Tensor::full({1}, 1.0, DType::f64));
  optim::AdamW adam({p});
  p.set_grad(Tensor::zeros({1}, DType::f64));
  adam.step();
  CHECK(p.item() == doctest::Approx(1.0 - 1e-3 * 0.01).epsilon(1e-12));
}

TEST_CASE("Adam's first step is the same for a huge and a tiny gradient") {
  for (Device device : devices()) {
    Var p = Var::parameter(Tensor::zeros({3}, DType::f32, device));
    optim::Adam adam({p}, {.lr = 0.1});
    p.set_grad(Tensor::from(std::vector<float>{1e10f, 1e-4f, 0.0f}, device));
    adam.step();
    CHECK(close(p.value(), std::vector<double>{-0.1, -0.1, 0.0}, 1e-4));
  }
}

TEST_CASE("SGD and Adam refuse options out of range") {
  const Var p = Var::parameter(Tensor::zeros({2}));
  for (const optim::SGDOptions& bad : {optim::SGDOptions{.momentum = -0.1},
                                       {.momentum = 1.0},
                                       {.lr = 0.0},
                                       {.lr = -1.0},
                                       {.weight_decay = -0.1}})
    CHECK_THROWS_AS(optim::SGD({p}, bad), Error);
  CHECK_THROWS_WITH_AS(optim::SGD({p}, {.nesterov = true}),
                       "SGD: nesterov with a momentum of 0, expected one above 0", Error);
  for (const optim::AdamOptions& bad : {optim::AdamOptions{.beta1 = -0.1},
                                        {.beta1 = 1.0},
                                        {.beta2 = -0.1},
                                        {.beta2 = 1.0},
                                        {.eps = 0.0},
                                        {.weight_decay = -0.1},
                                        {.lr = 0.0}})
    CHECK_THROWS_AS(optim::Adam({p}, bad), Error);
}

TEST_CASE("Adam counts one step per group if any parameter has a gradient") {
  for (Device device : devices()) {
    const auto zero = [&] { return Var::parameter(Tensor::zeros({1}, DType::f64, device)); };
    Var a = zero(), b = zero(), alone = zero();
    optim::Adam adam({{{a, b}, {.lr = 0.1}}, {{alone}, {.lr = 0.1}}});
    const auto check_steps = [&](double first, double second) {
      std::map<std::string, Tensor> state;
      for (const auto& [name, tensor] : adam.state()) state[name] = tensor;
      CHECK(state.at("0.steps").item() == first);
      CHECK(state.at("1.steps").item() == second);
    };
    const auto step = algorithm_1({.lr = 0.1});
    double expected[3] = {};
    State state[3] = {};
    const auto give = [&](Var& p, size_t k, double g, int t) {
      p.set_grad(Tensor::full({1}, g, DType::f64, device));
      step(expected[k], state[k], g, t);
    };
    adam.step();
    check_steps(0.0, 0.0);
    for (int t = 1; t <= 4; ++t) {
      give(a, 0, 2.0, t);
      if (t == 4) give(b, 1, 3.0, t);
      adam.step();
    }
    check_steps(4.0, 0.0);
    give(alone, 2, 5.0, 1);
    adam.step();
    check_steps(4.0, 1.0);
    CHECK(a.item() == doctest::Approx(expected[0]).epsilon(1e-12));
    CHECK(b.item() == doctest::Approx(expected[1]).epsilon(1e-12));
    CHECK(alone.item() == doctest::Approx(expected[2]).epsilon(1e-12));
  }
}
