#include "../reference/plain.h"
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("parameters have gradients, constants do not") {
  const Var constant = Tensor::zeros({2}), parameter = Var::parameter(Tensor::zeros({2}));
  CHECK_FALSE(constant.requires_grad());
  CHECK(parameter.requires_grad());
  CHECK((constant + parameter).requires_grad());
  CHECK_FALSE((constant + constant).requires_grad());
  CHECK_THROWS_AS(Var::parameter(Tensor::zeros({2}, DType::i32)), Error);
}

TEST_CASE("using an absent variable throws") {
  const Var absent;
  CHECK_FALSE(absent);
  CHECK_FALSE(absent.requires_grad());
  CHECK_THROWS_AS(absent.value(), Error);
  CHECK_THROWS_AS(absent.grad(), Error);
  CHECK_THROWS_AS(absent.shape(), Error);
}

TEST_CASE("gradients accumulate over backward passes until they are cleared") {
  for (Device device : devices()) {
    const Var x = Var::parameter(Tensor::full({3}, 2.0, DType::f32, device));
    CHECK_FALSE(x.grad());
    for (int pass = 1; pass <= 3; ++pass) {
      sum(x * x).backward();
      CHECK(close(x.grad(), Numbers(3, 4.0 * pass), 0.0));
    }
    Var same = x;
    same.zero_grad();
    CHECK_FALSE(x.grad());
    sum(x * x).backward();
    CHECK(close(x.grad(), Numbers(3, 4.0), 0.0));
  }
}

TEST_CASE("a gradient that was read does not change in later passes") {
  const Var x = Var::parameter(Tensor::full({3}, 1.0));
  sum(x).backward();
  const Tensor first = x.grad();
  sum(x).backward();
  CHECK(close(first, Numbers(3, 1.0), 0.0));
  CHECK(close(x.grad(), Numbers(3, 2.0), 0.0));
}

TEST_CASE("leaves that share a gradient tensor do not overwrite each other's") {
  const Var a = Var::parameter(Tensor::full({3}, 1.0)), b = Var::parameter(Tensor::full({3}, 1.0));
  const Tensor seed = Tensor::full({3}, 1.0);
  (a + b).backward(seed);
  sum(a).backward();
  CHECK(close(a.grad(), Numbers(3, 2.0), 0.0));
  CHECK(close(b.grad(), Numbers(3, 1.0), 0.0));
  CHECK(close(seed, Numbers(3, 1.0), 0.0));
}

TEST_CASE("a seed gradient belongs to the caller and is not changed") {
  on_devices(101, DType::f32, [&](Draw& draw, Device) {
    const Var x = Var::parameter(draw.off_zero({4, 3}));
    const Tensor seed = draw.normal({4, 3}), before = seed.clone();
    scale(relu(x), 3.0).backward(seed);
    CHECK(same_bits(seed, before));
    const auto s = values(seed), v = values(x.value());
    Numbers expected;
    for (size_t i = 0; i < s.size(); ++i) expected.push_back(v[i] > 0.0 ? 3.0 * s[i] : 0.0);
    CHECK(close(x.grad(), expected, 1e-6));
  });
}

TEST_CASE("errors of backward") {
  const Var x = Var::parameter(Tensor::zeros({2, 3}));
  CHECK_ERROR_HAS(relu(x).backward(), "[2, 3]");
  CHECK_THROWS_AS(sum(Tensor::zeros({2})).backward(), Error);
}

TEST_CASE("a parameter is its own one-element loss") {
  const Var x = Var::parameter(Tensor::full({}, 5.0));
  x.backward();
  x.backward();
  CHECK(x.grad().item() == 2.0);
}

TEST_CASE("NoGrad disables recording, nests, and ends with its scope") {
  const Var x = Var::parameter(Tensor::full({2}, 1.0));
  CHECK_FALSE(NoGrad::in_force());
  {
    const NoGrad outer;
    CHECK(NoGrad::in_force());
    { const NoGrad inner; }
    CHECK(NoGrad::in_force());
    const Var y = relu(x) * x;
    CHECK_FALSE(y.requires_grad());
    CHECK_THROWS_AS(sum(y).backward(), Error);
  }
  CHECK_FALSE(NoGrad::in_force());
  CHECK(relu(x).requires_grad());
}

TEST_CASE("NoGrad is unchanged after an exception and after backward") {
  try {
    const NoGrad scope;
    fail("leaving");
  } catch (const Error&) {
  }
  CHECK_FALSE(NoGrad::in_force());
  const Var x = Var::parameter(Tensor::full({2}, 1.0));
  sum(x).backward();
  CHECK_FALSE(NoGrad::in_force());
}

TEST_CASE("detach gives the same value as a constant") {
  const Var x = Var::parameter(Tensor::full({3}, 2.0));
  const Var y = x * x, cut = y.detach();
  CHECK(cut.value().shares_storage_with(y.value()));
  CHECK_FALSE(cut.requires_grad());
  sum(cut * x).backward();
  CHECK(close(x.grad(), Numbers(3, 4.0), 0.0));
}

TEST_CASE("set_grad and set_value require the leaf's shape and dtype") {
  Var x = Var::parameter(Tensor::full({3}, 2.0));
  x.set_grad(Tensor::full({3}, 7.0));
  CHECK(close(x.grad(), Numbers(3, 7.0), 0.0));
  CHECK_THROWS_AS(x.set_grad(Tensor::zeros({2})), Error);
  CHECK_THROWS_AS(x.set_grad(Tensor::zeros({3}, DType::f64)), Error);
  CHECK_THROWS_AS(Var(Tensor::zeros({3})).set_grad(Tensor::zeros({3})), Error);
  Var other = x;
  other.set_value(Tensor::full({4}, 1.0));
  CHECK(x.shape() == Shape{4});
  CHECK_FALSE(x.grad());
  sum(x).backward();
  CHECK(x.grad().shape() == Shape{4});
  Var y = relu(x);
  CHECK_THROWS_AS(y.set_value(Tensor::zeros({4})), Error);
}

TEST_CASE("an out-of-memory error in a forward pass names op, operands and requested bytes") {
  for (Device device : devices()) {
    // 2^47 bytes: more than there are addresses.
    constexpr int64_t kMany = int64_t{1} << 22;
    const Tensor tall = Tensor::zeros({kMany, 1}, DType::f64, device),
                 flat = Tensor::zeros({1, kMany}, DType::f64, device);
    const auto message = [&](const auto& f) {
      const std::string text = error_of<OutOfMemory>(f);
      CHECK(text.find('\n') == std::string::npos);
      CHECK(mentions(text, "out of memory on " + device.str() + ": "));
      CHECK(mentions(text, "[4194304, 4194304] float64 needs 134217728.0 MiB"));
      CHECK(mentions(text, "free on the device"));
      return text;
    };
    const char* both = "([4194304, 1], [1, 4194304]";
    CHECK(mentions(message([&] { matmul(tall, flat); }), std::string("matmul") + both + ")"));
    CHECK(mentions(message([&] { linear(tall, flat); }), std::string("linear") + both + ", absent)"));
    CHECK(mentions(message([&] { add(tall, flat); }), std::string("add") + both + ")"));
    CHECK(mentions(message([&] { subtract(tall, flat); }), std::string("subtract") + both + ")"));
    CHECK(mentions(message([&] { multiply(tall, flat); }), std::string("multiply") + both + ")"));
    CHECK(mentions(message([&] { divide(tall, flat); }), std::string("divide") + both + ")"));
    const Tensor rows = Tensor::zeros({kMany}, DType::i32, device);
    CHECK(mentions(message([&] { index_select(flat, rows); }), "index_select([1, 4194304], [4194304])"));
    const Relation nothing = Relation::from_coo(1, kMany, Tensor::zeros({0}, DType::i32, device),
                                                Tensor::zeros({0}, DType::i32, device));
    CHECK(mentions(message([&] { aggregate(SparseMatrix(nothing), flat); }),
                   "aggregate([4194304, 1], [1, 4194304], absent)"));
    CHECK(mentions(message([&] { linear(Features(SparseMatrix(nothing)), flat); }),
                   "linear([4194304, 1], [1, 4194304], absent)"));
    CHECK(mentions(message([&] { aggregate(nothing, flat); }), "aggregate(0 edges, [1, 4194304], absent)"));
    CHECK(mentions(message([&] {
                     custom_op(
                         "own", {tall, flat},
                         [](const auto& in) {
                           return Tensor::empty({in[0].size(0), in[1].size(1)}, DType::f64, in[0].device());
                         },
                         [](const CustomPass&) { return std::vector<Tensor>(); });
                   }),
                   std::string("own") + both + ")"));
  }
}
