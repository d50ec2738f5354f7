#include "../reference/plain.h"
#include <adjoint/optim/adam.h>

using namespace adj;
using namespace adj::test;

namespace {

// Kingma & Ba 2015, algorithm 1, for one number.
struct ScalarAdam {
  double p = 0.0, m = 0.0, v = 0.0;

  void step(double g, int t, const optim::AdamOptions& o, bool decoupled) {
    if (decoupled) {
      p -= o.lr * o.weight_decay * p;
    } else {
      g += o.weight_decay * p;
    }
    m = o.beta1 * m + (1.0 - o.beta1) * g;
    v = o.beta2 * v + (1.0 - o.beta2) * g * g;
    const double unbiased_m = m / (1.0 - std::pow(o.beta1, t)), unbiased_v = v / (1.0 - std::pow(o.beta2, t));
    p -= o.lr * unbiased_m / (std::sqrt(unbiased_v) + o.eps);
  }
};

template <class Optimizer>
void compare(const optim::AdamOptions& options, bool decoupled) {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64})
      for (const Shape& shape : {Shape{7, 5}, Shape{1}, Shape{20'011}}) {
        CAPTURE(device.str());
        CAPTURE(name_of(dtype));
        CAPTURE(shape.str());
        Draw draw(310, device, dtype);
        Var p = Var::parameter(draw.normal(shape));
        std::vector<ScalarAdam> expected;
        for (double v : values(p.value())) expected.push_back({v});
        Optimizer adam({p}, options);
        for (int t = 1; t <= 8; ++t) {
          const Tensor gradient = draw.normal(shape);
          const std::vector<double> g = values(gradient);
          p.set_grad(gradient);
          adam.step();
          for (size_t i = 0; i < g.size(); ++i) expected[i].step(g[i], t, options, decoupled);
        }
        std::vector<double> result;
        for (const ScalarAdam& scalar : expected) result.push_back(scalar.p);
        CHECK(close(p.value(), result, dtype == DType::f64 ? 1e-12 : 1e-5));
      }
}

}  // namespace

TEST_CASE("Adam follows algorithm 1") {
  compare<optim::Adam>({}, false);
  compare<optim::Adam>({.lr = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3}, false);
}

TEST_CASE("Adam adds weight decay to the gradient") {
  compare<optim::Adam>({.lr = 0.05, .weight_decay = 0.2}, false);
}

TEST_CASE("AdamW decays weights apart from the gradient") {
  compare<optim::AdamW>({.lr = 0.05, .weight_decay = 0.2}, true);
}

TEST_CASE("AdamW's weight decay is 0.01 unless another is given") {
  Var p = Var::parameter(Tensor::full({1}, 1.0, DType::f64));
  optim::AdamW adam({p});
  p.set_grad(Tensor::zeros({1}, DType::f64));
  adam.step();
  CHECK(p.item() == doctest::Approx(1.0 - 1e-3 * 0.01).epsilon(1e-12));
}

TEST_CASE("a huge gradient and a tiny one make the same first step") {
  for (Device device : devices()) {
    Var p = Var::parameter(Tensor::zeros({3}, DType::f32, device));
    optim::Adam adam({p}, {.lr = 0.1});
    p.set_grad(Tensor::from(std::vector<float>{1e10f, 1e-4f, 0.0f}, device));
    adam.step();
    CHECK(close(p.value(), std::vector<double>{-0.1, -0.1, 0.0}, 1e-4));
  }
}

TEST_CASE("Adam refuses options out of range") {
  const Var p = Var::parameter(Tensor::zeros({2}));
  for (double beta : {-0.1, 1.0}) {
    CHECK_THROWS_AS(optim::Adam({p}, {.beta1 = beta}), Error);
    CHECK_THROWS_AS(optim::Adam({p}, {.beta2 = beta}), Error);
  }
  CHECK_THROWS_AS(optim::Adam({p}, {.eps = 0.0}), Error);
  CHECK_THROWS_AS(optim::Adam({p}, {.weight_decay = -0.1}), Error);
  CHECK_THROWS_AS(optim::Adam({p}, {.lr = 0.0}), Error);
}

TEST_CASE("Adam counts a group's steps: none without a gradient, and one for all that have one") {
  for (Device device : devices()) {
    Var a = Var::parameter(Tensor::zeros({1}, DType::f64, device)),
        b = Var::parameter(Tensor::zeros({1}, DType::f64, device)),
        alone = Var::parameter(Tensor::zeros({1}, DType::f64, device));
    optim::Adam adam({{{a, b}, {.lr = 0.1}}, {{alone}, {.lr = 0.1}}});
    const auto steps = [&](const char* name) {
      for (const auto& [known, tensor] : adam.state())
        if (known == name) return tensor.item();
      return -1.0;
    };
    const auto give = [&](Var& p, double g) { p.set_grad(Tensor::full({1}, g, DType::f64, device)); };
    adam.step();
    CHECK(steps("0.steps") == 0.0);
    std::vector<ScalarAdam> expected(3);
    for (int t = 1; t <= 4; ++t) {
      give(a, 2.0);
      expected[0].step(2.0, t, {.lr = 0.1}, false);
      if (t == 4) give(b, 3.0);
      if (t == 4) expected[1].step(3.0, t, {.lr = 0.1}, false);
      adam.step();
    }
    CHECK(steps("0.steps") == 4.0);
    CHECK(steps("1.steps") == 0.0);
    give(alone, 5.0);
    expected[2].step(5.0, 1, {.lr = 0.1}, false);
    adam.step();
    CHECK(steps("0.steps") == 4.0);
    CHECK(steps("1.steps") == 1.0);
    CHECK(a.item() == doctest::Approx(expected[0].p).epsilon(1e-12));
    CHECK(b.item() == doctest::Approx(expected[1].p).epsilon(1e-12));
    CHECK(alone.item() == doctest::Approx(expected[2].p).epsilon(1e-12));
  }
}
