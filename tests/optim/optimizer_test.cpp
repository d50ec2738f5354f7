#include "../nn/module_state.h"
#include "../reference/plain.h"
#include <adjoint/ops.h>
#include <adjoint/optim/optimizer.h>

#include <limits>
#include <memory>

using namespace adj;
using namespace adj::test;

namespace {

using AdamGroup = optim::Group<optim::AdamOptions>;
using SGDGroup = optim::Group<optim::SGDOptions>;

Var parameter(double value, Device device = {}) {
  return Var::parameter(Tensor::full({2}, value, DType::f64, device));
}
Tensor gradient(double value, Device device = {}) { return Tensor::full({2}, value, DType::f64, device); }
std::vector<double> both(double value) { return {value, value}; }

/// SGD over two parameters of 0, in groups with rates of 1 and 0.5, and steps with gradients of 1.
struct TwoGroups {
  Var a, b;
  optim::SGD sgd;

  explicit TwoGroups(Device device)
      : a(parameter(0.0, device)),
        b(parameter(0.0, device)),
        sgd({SGDGroup{{a}, {.lr = 1.0}}, SGDGroup{{b}, {.lr = 0.5}}}) {}
  void step() {
    for (Var* p : {&a, &b}) p->set_grad(gradient(1.0, p->device()));
    sgd.step();
  }
};

}  // namespace

TEST_CASE("a step clears the gradients, and skips parameters without one") {
  for (Device device : devices()) {
    Var a = parameter(1.0, device), b = parameter(1.0, device);
    optim::SGD sgd({a, b}, {.lr = 0.5});
    sum(a).backward();
    sum(a).backward();  // gradients add up until the step
    sgd.step();
    CHECK_FALSE(a.grad());
    CHECK(close(a.value(), both(0.0), 1e-12));
    CHECK(close(b.value(), both(1.0), 0.0));
    sgd.step();  // nothing to do
    CHECK(close(a.value(), both(0.0), 1e-12));
    sum(a).backward();
    sgd.zero_grad();
    CHECK_FALSE(a.grad());
  }
}

TEST_CASE("the rate factor scales every group's rate as given at construction") {
  for (Device device : devices()) {
    TwoGroups groups(device);
    optim::SGD& sgd = groups.sgd;
    CHECK(sgd.num_groups() == 2);
    CHECK(sgd.parameters().size() == 2);
    for (double factor : {0.5, 0.5, 0.1, 0.0, 1.0}) {
      sgd.set_rate_factor(factor);
      CHECK(sgd.rate_factor() == factor);
      CHECK(sgd.learning_rate(1) == 0.5 * factor);
      groups.step();
    }
    CHECK(close(groups.a.value(), both(-2.1), 1e-12));
    CHECK(close(groups.b.value(), both(-1.05), 1e-12));
    CHECK_THROWS_AS(sgd.set_rate_factor(-0.1), Error);
    CHECK_THROWS_AS(sgd.set_rate_factor(std::numeric_limits<double>::quiet_NaN()), Error);
  }
}

TEST_CASE("set_lr replaces a group's own rate, under the factor") {
  for (Device device : devices()) {
    TwoGroups groups(device), loaded(device);
    optim::SGD &sgd = groups.sgd, &other = loaded.sgd;
    sgd.set_lr(0.25);
    CHECK(sgd.learning_rate(0) == 0.25);
    CHECK(sgd.learning_rate(1) == 0.25);
    groups.step();
    sgd.set_rate_factor(0.5);
    sgd.set_lr(0.5, 1);
    CHECK(sgd.learning_rate(0) == 0.125);
    CHECK(sgd.learning_rate(1) == 0.25);
    groups.step();
    CHECK(close(groups.a.value(), both(-0.375), 1e-12));
    CHECK(close(groups.b.value(), both(-0.5), 1e-12));

    other.load_state(copied(sgd));
    CHECK(other.learning_rate(0) == 0.125);
    CHECK(other.learning_rate(1) == 0.25);
    other.set_rate_factor(1.0);
    CHECK(other.learning_rate(1) == 0.5);
    sgd.set_lr(0.0);
    groups.step();
    CHECK(close(groups.a.value(), both(-0.375), 1e-12));
    CHECK_THROWS_AS(sgd.set_lr(-0.1), Error);
    CHECK_THROWS_AS(sgd.set_lr(std::numeric_limits<double>::infinity()), Error);
  }
}

TEST_CASE("an optimizer continues from its state to the same bits, with float32 masters in bfloat16") {
  for (DType dtype : {DType::f32, DType::bf16})
    for (bool adam : {false, true})
      on_devices(322, DType::f32, [&](Draw& draw, Device) {
        CAPTURES(name_of(dtype), adam);
        const Tensor start = draw.normal({33, 5}).to(dtype);
        std::vector<Tensor> gradients;
        for (int step = 0; step < 8; ++step) gradients.push_back(draw.normal({33, 5}).to(dtype));
        const auto make = [&](Var& p) -> std::unique_ptr<optim::Optimizer> {
          if (adam) return std::make_unique<optim::Adam>(std::vector{p}, optim::AdamOptions{.lr = 1e-3});
          return std::make_unique<optim::SGD>(std::vector{p}, optim::SGDOptions{.lr = 1e-3, .momentum = 0.9});
        };
        const auto run = [&](optim::Optimizer& optimizer, Var& p, size_t begin, size_t end) {
          for (size_t step = begin; step < end; ++step) {
            optimizer.set_rate_factor(1.0 / (1.0 + static_cast<double>(step)));
            p.set_grad(gradients[step].to(p.dtype()));
            optimizer.step();
          }
        };
        Var whole = Var::parameter(start.clone()), wide = Var::parameter(start.clone().to(DType::f32));
        const auto unbroken = make(whole), of_wide = make(wide);
        run(*unbroken, whole, 0, 8);
        run(*of_wide, wide, 0, 8);
        const auto state = copied(*unbroken);
        CHECK(same_bits(whole.value(), wide.value().to(dtype)));
        CHECK(same_bits(state.at("0.0.first"), copied(*of_wide).at("0.0.first")));
        if (dtype == DType::bf16) CHECK(same_bits(state.at("0.0.master"), wide.value()));

        Var first = Var::parameter(start.clone());
        const auto before = make(first);
        run(*before, first, 0, 5);
        Var second = Var::parameter(first.value().clone());
        const auto after = make(second);
        after->load_state(copied(*before));
        CHECK(after->rate_factor() == before->rate_factor());
        CHECK(after->learning_rate() == before->learning_rate());
        run(*after, second, 5, 8);
        CHECK(same_bits(second.value(), whole.value()));
        CHECK(equal(copied(*after), state));
      });
}

TEST_CASE("a mismatched state is refused by name, and nothing is changed") {
  Var p = parameter(1.0);
  optim::Adam adam({p});
  p.set_grad(gradient(1.0));
  adam.step();
  const auto good = copied(adam);
  const auto refused = [&](auto&& spoil, const std::string& told) {
    auto state = good;
    for (auto& [name, tensor] : state) tensor = Tensor::zeros_like(tensor);
    spoil(state);
    CHECK(mentions(error_of([&] { adam.load_state(state); }), told));
    CHECK(equal(copied(adam), good));
    CHECK(adam.rate_factor() == 1.0);
    CHECK(adam.learning_rate() == 1e-3);
  };
  refused([](auto& state) { state.erase("0.0.second"); }, "expected 5");
  refused(
      [](auto& state) {
        state.erase("0.0.second");
        state["0.0.third"] = Tensor::zeros({2}, DType::f64);
      },
      "0.0.second");
  refused([](auto& state) { state["0.0.first"] = Tensor::zeros({3}, DType::f64); }, "[3]");
  refused([](auto& state) { state["0.steps"] = Tensor::zeros({1}, DType::i32); }, "0.steps");
  refused([](auto& state) { state["0.steps"].fill_(-1.0); }, "-1");
  refused([](auto& state) { state["rate_factor"] = Tensor::full({1}, -1.0, DType::f64); }, "-1");
  refused([](auto& state) { state["0.lr"] = Tensor::full({1}, NAN, DType::f64); }, "nan");
}

TEST_CASE("an optimizer refuses parameters without gradient, given twice, or with a new value") {
  const Var p = parameter(1.0);
  CHECK(mentions(error_of([&] { optim::SGD({Var(gradient(1.0))}); }), "takes no gradient"));
  CHECK_THROWS_AS(optim::SGD(std::vector<Var>{}), Error);
  CHECK(mentions(error_of([&] {
                   optim::Adam({AdamGroup{{p}, {}}, AdamGroup{{p}, {}}});
                 }),
                 "duplicate parameter"));
  CHECK(mentions(error_of([&] { optim::Adam({p, p}); }), "duplicate parameter"));
  Var q = parameter(1.0);
  optim::SGD sgd({q});
  q.set_value(gradient(2.0));
  q.set_grad(gradient(1.0));
  CHECK(mentions(error_of([&] { sgd.step(); }), "given another value"));
}

TEST_CASE("a step is not recorded, and increments the parameters' versions") {
  Var p = parameter(1.0);
  optim::SGD sgd({p});
  const Var y = sum(p * p);
  p.set_grad(gradient(1.0));
  sgd.step();
  CHECK(mentions(error_of([&] { y.backward(); }), "multiply"));
}

TEST_CASE("clip_grad_norm scales all gradients together, if their norm is too large") {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16})
    on_devices(321, DType::f32, [&](Draw& draw, Device) {
      CAPTURE(name_of(dtype));
      const auto drawn = [&](Shape shape) { return draw.normal(shape).to(dtype); };
      Var a = Var::parameter(drawn({301, 7})), b = Var::parameter(drawn({5}));
      const Var idle = Var::parameter(drawn({3}));
      const Tensor ga = drawn({301, 7}), gb = drawn({5});
      const double tolerance = dtype == DType::bf16 ? 4e-3 : 1e-6;
      double square = 0.0;
      for (const Tensor& g : {ga, gb})
        for (double v : values(g)) square += v * v;
      const double norm = std::sqrt(square);
      for (double max_norm : {0.5 * norm, 2.0 * norm}) {
        a.set_grad(ga.clone());
        b.set_grad(gb.clone());
        const Tensor found = optim::clip_grad_norm({a, idle, b}, max_norm);
        CHECK(found.item() == doctest::Approx(norm).epsilon(dtype == DType::f64 ? 1e-12 : 1e-6));
        const double factor = norm > max_norm ? max_norm / (norm + 1e-6) : 1.0;
        for (const auto& [grad, clipped] : {std::pair(ga, a.grad()), {gb, b.grad()}}) {
          std::vector<double> expected = values(grad);
          for (double& v : expected) v *= factor;
          CHECK(close(clipped, expected, tolerance));
        }
      }
    });
}

TEST_CASE("clip_grad_norm scales a gradient of two leaves once, and not the caller's tensor") {
  for (Device device : devices()) {
    const Var a = parameter(1.0, device), b = parameter(1.0, device);
    const Tensor seed = gradient(3.0, device);
    (a + b).backward(seed);
    const Tensor norm = optim::clip_grad_norm({a, b, a}, 3.0);
    CHECK(norm.item() == doctest::Approx(6.0));
    CHECK(close(a.grad(), both(1.5), 1e-6));
    CHECK(close(b.grad(), both(1.5), 1e-6));
    CHECK(close(seed, both(3.0), 0.0));
  }
}

TEST_CASE("clip_grad_norm refuses parameters without gradients and norms that are not positive") {
  const Var p = parameter(1.0);
  CHECK(mentions(error_of([&] { optim::clip_grad_norm({p}, 1.0); }), "backward"));
  for (double most : {0.0, -1.0, double(NAN), double(INFINITY)})
    CHECK(mentions(error_of([&] { optim::clip_grad_norm({p}, most); }), "expected a positive norm"));
}
