#include "../reference/plain.h"
#include <adjoint/adjoint.h>

using namespace adj;
using namespace adj::test;

namespace {

// x² by plain loops on the CPU.
Var square(const Var& x) {
  return custom_op(
      "square", {x},
      [](const std::vector<Tensor>& in) {
        Tensor y = in[0].clone();
        double* element = y.mutable_data<double>();
        for (int64_t i = 0; i < y.numel(); ++i) element[i] *= element[i];
        return y;
      },
      [](const CustomPass& pass) -> std::vector<Tensor> {
        Tensor dx = pass.dy.clone();
        double* element = dx.mutable_data<double>();
        for (int64_t i = 0; i < dx.numel(); ++i) element[i] *= 2 * pass.inputs[0].data<double>()[i];
        return {dx};
      });
}

// a b / (a + b) by the library's own ops.
Var harmonic(const Var& a, const Var& b) {
  return custom_op(
      "harmonic", {a, b},
      [](const std::vector<Tensor>& in) { return (Var(in[0]) * in[1] / (Var(in[0]) + in[1])).value(); },
      [](const CustomPass& pass) -> std::vector<Tensor> {
        const Var da = Var(pass.output) / pass.inputs[0], db = Var(pass.output) / pass.inputs[1];
        return {(da * da * pass.dy).value(), (db * db * pass.dy).value()};
      });
}

// y = x with arbitrary gradients, to test which are refused.
Var returning(const std::vector<Var>& inputs, std::vector<Tensor> gradients) {
  return custom_op(
      "faulty", inputs, [](const std::vector<Tensor>& in) { return in[0].clone(); },
      [gradients](const CustomPass&) { return gradients; });
}

std::string refused(const std::vector<Var>& inputs, std::vector<Tensor> gradients) {
  const Var y = returning(inputs, std::move(gradients));
  return error_of([&] { sum(y).backward(); });
}

}  // namespace

TEST_CASE("custom ops have the gradients of their backward functions") {
  Draw draw(130);
  check([](const auto& v) { return square(v[0]); }, {draw.normal({4, 3})});
  check([](const auto& v) { return square(square(v[0]) - v[0]); }, {draw.normal({5})});
  for (Device device : devices()) {
    Draw local(131, device);
    check([](const auto& v) { return harmonic(v[0], v[1]); },
          {local.uniform({4, 3}, 0.5, 2.0), local.uniform({4, 3}, 0.5, 2.0)});
  }
}

TEST_CASE("a custom op sees which gradients are wanted, and others are dropped") {
  const Tensor two = Tensor::full({2}, 2.0);
  const Var a = Var::parameter(two.clone()), index = Tensor::zeros({7}, DType::i32);
  std::vector<bool> wanted;
  const Var y = custom_op(
      "picky", {a, index}, [](const std::vector<Tensor>& in) { return in[0].clone(); },
      [&](const CustomPass& pass) -> std::vector<Tensor> {
        wanted = pass.wanted;
        return {pass.dy, pass.dy};  // the second has a wrong shape, but is not wanted
      });
  sum(y).backward();
  CHECK(wanted == std::vector<bool>{true, false});
  CHECK(close(a.grad(), Numbers{1.0, 1.0}, 0.0));
}

TEST_CASE("a custom op over constants is not recorded, nor are ops within a custom op") {
  CHECK_FALSE(harmonic(Tensor::full({2}, 1.0), Tensor::full({2}, 1.0)).requires_grad());
  const Var x = Var::parameter(Tensor::full({2}, 1.0));
  bool recorded = true;
  const Var y = custom_op(
      "inner", {x},
      [&](const std::vector<Tensor>&) {
        const Var inside = 2.0 * x;
        recorded = inside.requires_grad();
        return inside.value();
      },
      [](const CustomPass& pass) -> std::vector<Tensor> { return {pass.dy}; });
  CHECK(y.requires_grad());
  CHECK_FALSE(recorded);
}

TEST_CASE("wrong gradients of a custom op are errors that name the op and the input") {
  const Var x = Var::parameter(Tensor::zeros({2, 3})), w = Var::parameter(Tensor::zeros({4}));
  const Tensor dx = Tensor::zeros({2, 3}), dw = Tensor::zeros({4});
  CHECK(refused({x, w}, {dx, dw}).empty());
  CHECK(mentions(refused({x, w}, {dx}), "faulty: backward returned 1 gradients for 2 inputs"));
  CHECK(mentions(refused({x, w}, {dx, {}}), "faulty: backward returned no gradient for input 1, [4]"));
  CHECK(mentions(refused({x, w}, {dx, dx}), "faulty: the gradient of input 1 is [2, 3]"));
  CHECK(mentions(refused({x, w}, {dx.to(DType::f64), dw}), "faulty: the gradient of input 0 is"));
  CHECK(mentions(error_of([&] {
                   custom_op(
                       "empty", {x}, [](const std::vector<Tensor>&) { return Tensor(); },
                       [](const CustomPass&) { return std::vector<Tensor>(); });
                 }),
                 "empty: forward returned no tensor"));
}

TEST_CASE("tensors saved by a custom op must not change before its backward pass") {
  Tensor value = Tensor::full({2}, 1.0, DType::f64);
  const Var x = Var::parameter(value);
  const Var y = square(x);
  value.fill_(3.0);
  CHECK_ERROR_HAS(sum(y).backward(), "square");
}

TEST_CASE("a gradient that aliases the op's input or output is copied by the tape") {
  for (Device device : devices())
    for (bool output : {false, true})
      for (bool more : {false, true}) {
        CAPTURES(output, more);
        const Var x = Var::parameter(random_tensor({4, 3}, DType::f32, device));
        const Var five = sum(x * 5.0);  // recorded before, so that its gradient is added to the op's
        const Var y = custom_op(
            "same", {x}, [](const std::vector<Tensor>& in) { return in[0].clone(); },
            [output](const CustomPass& pass) -> std::vector<Tensor> {
              return {output ? pass.output : pass.inputs[0]};
            });
        Numbers expected = values(y.value());
        (more ? five + sum(y) : sum(y)).backward();
        CHECK(values(y.value()) == expected);
        CHECK(values(x.value()) == expected);
        CHECK_FALSE(x.grad().shares_storage_with(y.value()));
        CHECK_FALSE(x.grad().shares_storage_with(x.value()));
        for (double& g : expected) g += more ? 5.0 : 0.0;
        CHECK(close(x.grad(), expected, 1e-6));
      }
}
