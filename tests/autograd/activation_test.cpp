#include "../reference/plain.h"
#include <adjoint/autograd/activation.h>

using namespace adj;
using namespace adj::test;

namespace {

struct Case {
  Activation activation;
  float slope;
  std::function<double(double)> plain;
};

const std::vector<Case> kCases{
    {Activation::relu, 0.0f, [](double x) { return x > 0.0 ? x : 0.0; }},
    {Activation::leaky_relu, 0.01f, [](double x) { return x > 0.0 ? x : static_cast<double>(0.01f) * x; }},
    {Activation::leaky_relu, 0.25f, [](double x) { return x > 0.0 ? x : 0.25 * x; }},
    {Activation::elu, 0.0f, [](double x) { return x > 0.0 ? x : std::expm1(x); }},
    {Activation::gelu, 0.0f, [](double x) { return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))); }},
};

}  // namespace

TEST_CASE("activations equal their formulas") {
  for (const Case& c : kCases)
    for (const Shape& shape : {Shape{}, Shape{1001}, Shape{37, 13}, Shape{0, 4}})
      on_devices(20, DType::f64, [&](Draw& draw, Device) {
        CAPTURES(name_of(c.activation), shape.str());
        const Tensor x = draw.uniform(shape, -6.0, 6.0);
        Numbers expected = values(x);
        for (double& v : expected) v = c.plain(v);
        CHECK(close(activate(c.activation, x, c.slope).value(), expected, 1e-12));
        CHECK(close(activate(c.activation, x.to(DType::f32), c.slope).value(), expected, 1e-6));
      });
}

TEST_CASE("activations of large inputs neither overflow nor miss their limit") {
  for (Device device : devices()) {
    const Tensor x = Tensor::from<float>({-200.0f, -50.0f, -0.0f, 0.0f, 50.0f, 200.0f}, device);
    CHECK(close(gelu(x).value(), Numbers{0.0, 0.0, 0.0, 0.0, 50.0, 200.0}, 1e-6));
    CHECK(close(elu(x).value(), Numbers{-1.0, -1.0, 0.0, 0.0, 50.0, 200.0}, 1e-6));
  }
}

TEST_CASE("gradients of activations") {
  for (const Case& c : kCases)
    for (const Shape& shape : {Shape{5, 7}, Shape{2, 3, 2}})
      on_devices(21, DType::f64, [&](Draw& draw, Device) {
        CAPTURES(name_of(c.activation), c.slope);
        check([&](const auto& v) { return activate(c.activation, v[0], c.slope); }, {draw.off_zero(shape)});
      });
}

TEST_CASE("Activation::none returns the variable itself") {
  const Var x = Var::parameter(Tensor::full({2}, -1.0));
  CHECK(activate(Activation::none, x).value().shares_storage_with(x.value()));
}

TEST_CASE("short names are the corresponding activations") {
  Draw draw(22);
  const Tensor x = draw.normal({50});
  CHECK(same_bits(relu(x).value(), activate(Activation::relu, x).value()));
  CHECK(same_bits(leaky_relu(x, 0.2f).value(), activate(Activation::leaky_relu, x, 0.2f).value()));
  CHECK(same_bits(elu(x).value(), activate(Activation::elu, x).value()));
  CHECK(same_bits(gelu(x).value(), activate(Activation::gelu, x).value()));
}

TEST_CASE("activations do not write to their input") {
  for (const Case& c : kCases) {
    Draw draw(23);
    const Var x = Var::parameter(draw.off_zero({6, 4}));
    const Tensor before = x.value().clone();
    activate(c.activation, x, c.slope).backward(draw.normal({6, 4}));
    CHECK(same_bits(x.value(), before));
  }
}
