#include "../reference/plain.h"
#include <adjoint/autograd/tape.h>
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

namespace {

// Passes its input on, and notes `name` when the backward pass goes by.
Var probe(const Var& x, std::vector<std::string>& log, const std::string& name) {
  return record("probe", x.value(), {x}, [&log, name](Tensor dy, Gradients& out) {
    log.push_back(name);
    out.add(0, std::move(dy));
  });
}

// Takes part in the forward pass and lets no gradient through.
Var blocked(const Var& x) {
  return record("blocked", x.value(), {x}, [](const Tensor&, Gradients&) {});
}

using Log = std::vector<std::string>;

}  // namespace

TEST_CASE("a hook is called once per pass, with the complete gradient") {
  on_devices(130, DType::f64, [&](Draw& draw, Device) {
    const Var x = Var::parameter(draw.normal({3, 2})), y = Var::parameter(draw.normal({3, 2}));
    std::vector<Numbers> seen;
    const GradientHook hook = x.on_gradient([&](const Tensor& g) { seen.push_back(values(g)); });
    const Var h = gelu(x * x);
    sum((h + x) * h + gelu(h * y) - x).backward();
    REQUIRE(seen.size() == 1);
    CHECK(close(x.grad(), seen[0], 0.0));
    sum(x * y).backward();  // adds up
    REQUIRE(seen.size() == 2);
    CHECK(close(x.grad(), seen[1], 0.0));
    CHECK(seen[0] != seen[1]);
    sum(y * y).backward();  // x has no part in it
    CHECK(seen.size() == 2);
  });
}

TEST_CASE("a hook is called before the backward functions of earlier ops") {
  Log log;
  Var x = Var::parameter(Tensor::full({2, 2}, 1.0));
  const Var w1 = Var::parameter(Tensor::full({2, 2}, 1.0)), w2 = Var::parameter(Tensor::full({2, 2}, 1.0));
  const GradientHook hooks[] = {x.on_gradient([&](const Tensor&) { log.push_back("x"); }),
                                w1.on_gradient([&](const Tensor&) { log.push_back("w1"); }),
                                w2.on_gradient([&](const Tensor&) { log.push_back("w2"); })};
  const Var h1 = linear(probe(x, log, "below w1"), w1);
  const Var h2 = linear(probe(h1, log, "below w2"), w2);
  sum(h2).backward();
  CHECK(log == Log{"w2", "below w2", "w1", "below w1", "x"});
}

TEST_CASE("a hook does not wait for ops that no gradient reaches") {
  Log log;
  const Var w = Var::parameter(Tensor::full({2}, 1.0)), x = Var::parameter(Tensor::full({2}, 1.0));
  const GradientHook first = w.on_gradient([&](const Tensor&) { log.push_back("w"); });
  const GradientHook second = x.on_gradient([&](const Tensor&) { log.push_back("x"); });
  const Var below = probe(x, log, "below");
  const Var dead = blocked(scale(scale(w, 2.0), 3.0));
  sum(below * w + dead).backward();
  CHECK(log == Log{"w", "below", "x"});

  log.clear();  // the dead use was recorded before the others
  const Var early = blocked(scale(w, 2.0));
  sum(probe(x, log, "below") * w + early).backward();
  CHECK(log == Log{"below", "x", "w"});

  log.clear();
  sum(blocked(w) + x).backward();
  CHECK(log == Log{"x"});
}

TEST_CASE("a leaf that is its own loss gets its gradient at once") {
  const Var x = Var::parameter(Tensor::full({}, 5.0));
  int calls = 0;
  const GradientHook hook = x.on_gradient([&](const Tensor& g) { calls += static_cast<int>(g.item()); });
  x.backward();
  CHECK(calls == 1);
}

TEST_CASE("a hook lives as long as the handle returned by on_gradient()") {
  const Var x = Var::parameter(Tensor::full({2}, 1.0));
  Log log;
  const auto note = [&](const char* name) { return [&log, name](const Tensor&) { log.push_back(name); }; };
  const auto pass = [&] {
    log.clear();
    sum(x).backward();
    return log;
  };
  GradientHook a = x.on_gradient(note("a"));
  {
    const GradientHook b = x.on_gradient(note("b"));
    CHECK(pass() == Log{"a", "b"});
  }
  CHECK(pass() == Log{"a"});
  GradientHook moved = std::move(a);
  CHECK(pass() == Log{"a"});
  moved = x.on_gradient(note("c"));
  CHECK(pass() == Log{"c"});
  CHECK(moved);
  moved.remove();
  moved.remove();
  CHECK_FALSE(moved);
  CHECK(pass().empty());
  GradientHook outlives;
  {
    const Var gone = Var::parameter(Tensor::full({2}, 1.0));
    outlives = gone.on_gradient(note("gone"));
  }
  CHECK_THROWS_AS((void)(x + x).on_gradient(note("no leaf")), Error);
  CHECK_THROWS_AS((void)Var(Tensor::zeros({2})).on_gradient(note("no gradient")), Error);
}

TEST_CASE("collect_grad_in() chooses where a gradient is stored") {
  on_devices(131, DType::f32, [&](Draw& draw, Device device) {
    const Tensor start = draw.normal({4, 3}), w = draw.normal({4, 3});
    Var x = Var::parameter(start), apart = Var::parameter(start);
    Tensor flat = Tensor::full({20}, 7.0, DType::f32, device);
    x.collect_grad_in(flat.rows(4, 16).reshape({4, 3}));
    for (int round = 0; round < 2; ++round) {
      for (int pass = 0; pass < 3; ++pass) {
        for (const Var& v : {x, apart}) sum(gelu(v * v) + v * w).backward();
        CHECK(same_bits(x.grad(), apart.grad()));
        CHECK(x.grad().shares_storage_with(flat));
      }
      CHECK(same_bits(flat.rows(4, 16).reshape({4, 3}), apart.grad()));
      x.zero_grad();
      apart.zero_grad();
      CHECK_FALSE(x.grad());
    }
    for (double outside : values(flat.rows(0, 4))) CHECK(outside == 7.0);
    for (double outside : values(flat.rows(16, 20))) CHECK(outside == 7.0);

    x.set_grad(w);
    CHECK(same_bits(flat.rows(4, 16).reshape({4, 3}), w));
    CHECK(x.mutable_grad().shares_storage_with(flat));
    CHECK_ERROR_HAS(x.collect_grad_in(w), "already");
    CHECK_ERROR_HAS(x.set_value(Tensor::zeros({4, 3}, DType::f64, device)), "collects in");
    x.set_value(w);
    sum(x).backward();
    x.collect_grad_in({});
    CHECK_FALSE(x.grad().shares_storage_with(flat));
    CHECK(close(x.grad(), Numbers(12, 1.0), 0.0));
    x.collect_grad_in(flat.rows(0, 12).reshape({4, 3}));
    CHECK(close(flat.rows(0, 12), Numbers(12, 1.0), 0.0));
    CHECK_THROWS_AS(apart.collect_grad_in(flat), Error);
    CHECK_THROWS_AS(Var(w).collect_grad_in(w), Error);
  });
}

TEST_CASE("a gradient that may be modified belongs to one variable") {
  Var a = Var::parameter(Tensor::full({3}, 1.0)), b = Var::parameter(Tensor::full({3}, 1.0));
  CHECK_FALSE(a.mutable_grad());
  (a + b).backward(Tensor::full({3}, 1.0));
  a.mutable_grad().fill_(9.0);
  CHECK(close(a.grad(), Numbers(3, 9.0), 0.0));
  CHECK(close(b.grad(), Numbers(3, 1.0), 0.0));
}
